package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.LateReservation;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which nodes have which volumes, as it is recorded in the volume's journal object beside the keys
 * of ceph-csi, which ignores it:
 *
 * <pre>
 *   csi.java.publish             → a number that every change of the keys below replaces
 *   csi.java.publish.[node id]   → {"readonly":false,"mode":"SINGLE_NODE_WRITER","access":"mount"}
 * </pre>
 *
 * <p>A call that goes on with a reservation of another one replaces the number, too ({@link
 * Journal#takeOver}).
 *
 * <p>Two drivers at once cannot both give a volume away: each change is one compound write that
 * fails when another came between it and what was read; then it is decided anew. A change costs one
 * read and one write; an attach that is repeated costs the read alone. The same guards a deletion,
 * by a mark beside the attachments:
 *
 * <pre>
 *   csi.java.deleting            → when it began, ISO 8601, and a number
 * </pre>
 */
public final class AttachmentJournal {
  static final String GENERATION = "csi.java.publish";
  private static final String PREFIX = GENERATION + ".";
  private static final String READONLY = "readonly";
  private static final String MODE = "mode";
  private static final String ACCESS = "access";
  static final String DELETING = LateReservation.DELETING;
  private static final Logger LOG = LoggerFactory.getLogger(AttachmentJournal.class);
  private static final int ATTEMPTS = 20;
  private static final byte[] ABSENT = {};

  private final IoContext pool;
  private final Journal journal;

  /**
   * @param instanceId tells several drivers on one pool apart
   * @param pool the pool of the volumes' journal objects
   */
  public AttachmentJournal(String instanceId, IoContext pool) {
    this.pool = pool;
    this.journal = new Journal(JournalKind.VOLUME, instanceId, pool, pool);
  }

  /**
   * Gives a volume to a node.
   *
   * @param entry what the journal says of the volume
   * @return false if the node had it already
   * @throws VolumeException as {@link Attachment#requireCompatible}; FAILED_PRECONDITION if it is
   *     being deleted; NOT_FOUND if it was deleted meanwhile; ABORTED if others change it all the
   *     time
   */
  boolean attach(VolumeId id, JournalEntry entry, Attachment wanted) {
    return change(
        id,
        entry,
        current -> {
          requireNotDeleting(id, current);
          return wanted.requireCompatible(id, of(current)).isPresent()
              ? Optional.empty()
              : Optional.of(write -> write.omapSet(Map.of(key(wanted.nodeId()), encode(wanted))));
        });
  }

  /**
   * Takes a volume from a node that may have it.
   *
   * @param entry what the journal says of the volume
   * @param nodeId the node; empty for all nodes
   * @throws VolumeException NOT_FOUND if the volume was deleted meanwhile; ABORTED if others change
   *     it all the time
   */
  public void detach(VolumeId id, JournalEntry entry, String nodeId) {
    change(
        id,
        entry,
        current -> {
          List<String> keys =
              of(current).stream()
                  .map(Attachment::nodeId)
                  .filter(node -> nodeId.isEmpty() || node.equals(nodeId))
                  .map(AttachmentJournal::key)
                  .toList();
          // Also without keys: an attach that was given up, and comes later, is refused then.
          return Optional.of(
              write -> {
                if (!keys.isEmpty()) {
                  write.omapRemove(keys);
                }
              });
        });
  }

  /** Takes a volume from a node that it was given to by a call that fails all the same. */
  void withdraw(VolumeId id, String nodeId) {
    journal.byUuid(id.uuid()).ifPresent(entry -> detach(id, entry, nodeId));
  }

  /**
   * Whether a node has a volume, by its uuid; one round trip. An entry that is damaged may be of a
   * volume that it has.
   */
  boolean isAttached(UUID uuid, String nodeId) {
    try {
      return journal.byUuid(uuid).filter(entry -> nodes(entry).contains(nodeId)).isPresent();
    } catch (VolumeException e) {
      LOG.warn("volume {} counts as one of node {}: {}", uuid, nodeId, e.getMessage());
      return true;
    }
  }

  /** Carries a change out, unless nothing is to be done: then false. */
  private boolean change(VolumeId id, JournalEntry first, Decision decision) {
    JournalEntry entry = first;
    for (int attempt = 1; ; attempt++) {
      Optional<Change> change = decision.on(entry);
      if (change.isEmpty()) {
        return false;
      }
      if (write(id, entry, change.get())) {
        return true;
      }
      if (attempt == ATTEMPTS) {
        throw new VolumeException(
            Reason.ABORTED,
            "volume " + id + " is being published or unpublished by another driver; try again");
      }
      entry =
          journal
              .byUuid(id.uuid())
              .orElseThrow(() -> VolumeException.notFound("volume " + id + " does not exist"));
    }
  }

  /** Carries a change out; false when another change came first. */
  private boolean write(VolumeId id, JournalEntry entry, Change change) {
    String generation = entry.attributes().get(GENERATION);
    try (WriteOperation write = new WriteOperation()) {
      write
          .assertExists()
          .omapCompare(GENERATION, generation == null ? ABSENT : generation.getBytes(UTF_8));
      write.omapSet(GENERATION, UUID.randomUUID().toString().getBytes(UTF_8));
      change.addTo(write);
      pool.operate(JournalKind.VOLUME.object(id.uuid()), write);
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Marks an unpublished volume as being deleted: from now on no driver publishes it. The mark is
   * removed with the journal entry, or by {@link #endDeletion}. A driver that dies leaves the mark,
   * as its progress is unknown, and the CO repeats the deletion.
   *
   * @param entry what the journal says of the volume
   * @throws VolumeException FAILED_PRECONDITION naming the node that has the volume; NOT_FOUND if
   *     it was deleted meanwhile; ABORTED if the entry has a mark that was removed meanwhile
   */
  public Mark beginDeletion(VolumeId id, JournalEntry entry) {
    String mark = newMark();
    AtomicBoolean replaced = new AtomicBoolean();
    change(
        id,
        entry,
        current -> {
          requireNone(id, current);
          if (isBeingDeleted(entry) && !isBeingDeleted(current)) {
            throw new VolumeException(
                Reason.ABORTED, "the deletion of volume " + id + " was cancelled; try again");
          }
          replaced.set(isBeingDeleted(current));
          return Optional.of(write -> write.omapSet(Map.of(DELETING, mark.getBytes(UTF_8))));
        });
    return new Mark(mark, replaced.get());
  }

  /**
   * The mark of a deletion.
   *
   * @param value tells it from all others
   * @param replacedAnother whether it took the place of another one: a driver died over the
   *     deletion, or is at it
   */
  public record Mark(String value, boolean replacedAnother) {}

  static String newMark() {
    return Instant.now() + " " + UUID.randomUUID();
  }

  /**
   * Removes the mark of a volume whose deletion was cancelled; a failure is logged. An entry that
   * an attempt gave up stays marked: it is removed without another check, so no other attempt may
   * continue it.
   *
   * @param mark of {@link #beginDeletion}, its value
   */
  public void endDeletion(VolumeId id, String mark) {
    try {
      journal
          .byUuid(id.uuid())
          .filter(marked -> !Attempt.isGivenUp(marked))
          .ifPresent(
              marked ->
                  change(
                      id,
                      marked,
                      current ->
                          mark.equals(current.attributes().get(DELETING))
                              ? Optional.of(write -> write.omapRemove(List.of(DELETING)))
                              : Optional.empty()));
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "volume {} stays marked as being deleted, so it cannot be published;"
              + " DeleteVolume ends that: {}",
          id,
          e.getMessage());
    }
  }

  /** Whether a deletion of the volume has begun, and perhaps died. */
  public static boolean isBeingDeleted(JournalEntry entry) {
    return entry.attributes().containsKey(DELETING);
  }

  private static void requireNotDeleting(VolumeId id, JournalEntry entry) {
    String since = entry.attributes().get(DELETING);
    if (since != null) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + id
              + " is being deleted since "
              + since.substring(0, Math.max(0, since.indexOf(' ')))
              + "; its deletion, or that of its group, has not ended: repeat it until it succeeds");
    }
  }

  /**
   * Refuses to delete a volume that a node has.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the node
   */
  private static void requireNone(VolumeId id, JournalEntry entry) {
    List<Attachment> attachments = of(entry);
    if (!attachments.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + id + " is published to node " + attachments.get(0).nodeId());
    }
  }

  /** The ids of the nodes that have a volume, sorted. */
  public static List<String> nodes(JournalEntry entry) {
    return of(entry).stream().map(Attachment::nodeId).toList();
  }

  /** The attachments that a volume's journal entry records, by node id. */
  public static List<Attachment> of(JournalEntry entry) {
    List<Attachment> attachments = new ArrayList<>();
    entry
        .attributes()
        .forEach(
            (key, value) -> {
              if (key.startsWith(PREFIX)) {
                attachments.add(decode(key.substring(PREFIX.length()), value));
              }
            });
    attachments.sort(Comparator.comparing(Attachment::nodeId));
    return attachments;
  }

  static String key(String nodeId) {
    return PREFIX + nodeId;
  }

  static byte[] encode(Attachment attachment) {
    Map<String, Object> value = new LinkedHashMap<>();
    value.put(READONLY, attachment.readonly());
    value.put(MODE, attachment.mode());
    value.put(ACCESS, attachment.access());
    try {
      return Json.mapper().writeValueAsString(value).getBytes(UTF_8);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of strings is always JSON", e);
    }
  }

  /**
   * An entry that cannot be read still counts as an attachment: no other node may get the volume.
   */
  private static Attachment decode(String nodeId, String value) {
    JsonNode json;
    try {
      json = Json.mapper().readTree(value);
    } catch (JsonProcessingException e) {
      json = Json.mapper().createObjectNode();
    }
    return new Attachment(
        nodeId,
        json.path(READONLY).asBoolean(false),
        json.path(MODE).asText("SINGLE_NODE_WRITER"),
        json.path(ACCESS).asText("mount"));
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
