package io.cephcsi.driver.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Which nodes have which volumes. Two drivers at once cannot both give a volume away: each change
 * is one compound write that fails when another came between it and what was read; then it is
 * decided anew. A change costs one read and one write, a repeated call the read alone.
 */
public final class RbdAttachments {
  private static final int ATTEMPTS = 20;
  private static final byte[] ABSENT = {};

  private final RbdVolumes volumes;
  private final NodeRegistry nodes;
  private final String instanceId;

  /**
   * @param volumes the volumes
   * @param nodes the nodes that exist
   * @param instanceId tells several drivers on one pool apart
   */
  public RbdAttachments(RbdVolumes volumes, NodeRegistry nodes, String instanceId) {
    this.volumes = volumes;
    this.nodes = nodes;
    this.instanceId = instanceId;
  }

  /**
   * Gives a volume to a node.
   *
   * @throws VolumeException NOT_FOUND if the volume or node does not exist; ALREADY_EXISTS if the
   *     node has it in another way; FAILED_PRECONDITION if another node has it and it cannot be on
   *     both
   */
  public void attach(VolumeId id, Attachment wanted, Credentials credentials) {
    volumes.with(
        id,
        credentials,
        volume -> {
          volume.requireImage();
          if (!nodes.isKnown(volume.lease(), volume.pool().io(), wanted.nodeId())) {
            throw VolumeException.notFound("node " + wanted.nodeId() + " does not exist");
          }
          change(
              volume,
              entry -> {
                Optional<Attachment> same = requireCompatible(id, wanted, Attachment.of(entry));
                return same.isPresent()
                    ? Optional.empty()
                    : Optional.of(write -> write.omapSet(wanted.key(), wanted.encode()));
              });
          return null;
        });
  }

  /**
   * Decides whether a node may have a volume.
   *
   * @return the attachment that there is already
   */
  static Optional<Attachment> requireCompatible(
      VolumeId id, Attachment wanted, List<Attachment> present) {
    for (Attachment other : present) {
      if (other.nodeId().equals(wanted.nodeId())) {
        if (!other.equals(wanted)) {
          throw new VolumeException(
              Reason.ALREADY_EXISTS,
              "volume "
                  + id
                  + " is published to node "
                  + wanted.nodeId()
                  + " as "
                  + describe(other));
        }
        return Optional.of(other);
      }
    }
    for (Attachment other : present) {
      if (wanted.isSingleNode()
          || other.isSingleNode()
          || (wanted.isOnlyWriter() && other.isOnlyWriter())) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume " + id + " is published to node " + other.nodeId() + " as " + describe(other));
      }
    }
    return Optional.empty();
  }

  private static String describe(Attachment attachment) {
    return attachment.mode()
        + " "
        + attachment.access()
        + (attachment.readonly() ? ", read-only" : ", writable");
  }

  /**
   * Takes a volume from a node; one that does not exist, or that the node does not have, is taken
   * already.
   *
   * @param nodeId the node; empty for all nodes
   */
  public void detach(VolumeId id, String nodeId, Credentials credentials) {
    try {
      volumes.with(
          id,
          credentials,
          volume -> {
            change(
                volume,
                entry -> {
                  List<String> keys =
                      Attachment.of(entry).stream()
                          .filter(a -> nodeId.isEmpty() || a.nodeId().equals(nodeId))
                          .map(Attachment::key)
                          .toList();
                  return keys.isEmpty()
                      ? Optional.empty()
                      : Optional.of(write -> write.omapRemove(keys));
                });
            return null;
          });
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
    }
  }

  private void change(OpenVolume volume, Decision decision) {
    JournalEntry entry = volume.entry();
    Journal journal =
        new Journal(JournalKind.VOLUME, instanceId, volume.pool().io(), volume.pool().io());
    for (int attempt = 1; ; attempt++) {
      Optional<Change> change = decision.on(entry);
      if (change.isEmpty() || write(volume, entry, change.get())) {
        return;
      }
      if (attempt == ATTEMPTS) {
        throw new VolumeException(
            Reason.ABORTED, "volume " + volume.id() + " is being published by others; try again");
      }
      entry =
          journal
              .byUuid(volume.id().uuid())
              .orElseThrow(
                  () -> VolumeException.notFound("volume " + volume.id() + " does not exist"));
    }
  }

  /** Carries a change out; false when another change came first. */
  private static boolean write(OpenVolume volume, JournalEntry entry, Change change) {
    String generation = entry.attributes().get(Attachment.GENERATION);
    try (WriteOperation write = new WriteOperation()) {
      write
          .assertExists()
          .omapCompare(
              Attachment.GENERATION, generation == null ? ABSENT : generation.getBytes(UTF_8));
      write.omapSet(Attachment.GENERATION, UUID.randomUUID().toString().getBytes(UTF_8));
      change.addTo(write);
      volume.pool().io().operate(JournalKind.VOLUME.object(volume.id().uuid()), write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
  }

  /**
   * Refuses to delete a volume that a node has.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the node
   */
  static void requireNone(VolumeId id, JournalEntry entry) {
    List<Attachment> attachments = Attachment.of(entry);
    if (!attachments.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + id + " is published to node " + attachments.get(0).nodeId());
    }
  }

  /** What to change, given what there is. */
  private interface Decision {
    Optional<Change> on(JournalEntry entry);
  }

  /** Steps of a compound write. */
  private interface Change {
    void addTo(WriteOperation write);
  }
}
