package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;

/**
 * The deletion of one volume: first marked, so that no driver gives the volume to a node or puts it
 * into a group, then carried out, or called off. Holds the lock of the volume's name until it is
 * closed. Used by one thread.
 */
final class VolumeDeletion implements AutoCloseable {
  private final OpenVolume volume;
  private final String instanceId;
  private final GroupSnapshotRecovery recovery;
  private final OperationRegistry.Hold name;
  private final AttachmentJournal attachments;
  private Optional<String> mark = Optional.empty();

  VolumeDeletion(GroupSnapshotRecovery recovery, OperationRegistry operations, OpenVolume volume) {
    this(
        recovery,
        volume,
        operations.hold(
            OperationRegistry.volumeName(volume.entry().requestName()), "DeleteVolume"));
  }

  private VolumeDeletion(
      GroupSnapshotRecovery recovery, OpenVolume volume, OperationRegistry.Hold name) {
    this.volume = volume;
    this.instanceId = recovery.instanceId();
    this.recovery = recovery;
    this.attachments = new AttachmentJournal(instanceId, volume.pool().io());
    this.name = name;
  }

  /** Of a volume whose name the caller has locked. */
  static VolumeDeletion withNameLocked(GroupSnapshotRecovery recovery, OpenVolume volume) {
    return new VolumeDeletion(recovery, volume, () -> {});
  }

  OpenVolume volume() {
    return volume;
  }

  /**
   * Marks the volume.
   *
   * @return false if another driver has just deleted it
   * @throws VolumeException FAILED_PRECONDITION if it is published, or in a group by its entry;
   *     ABORTED if another driver has just called off a deletion that its entry tells of
   */
  boolean begin() {
    JournalEntry entry = volume.entry();
    requireInNoGroup(volume.id(), entry);
    try {
      mark = Optional.of(attachments.beginDeletion(volume.id(), entry));
      return true;
    } catch (VolumeException e) {
      if (e.reason() == Reason.NOT_FOUND) {
        return false;
      }
      throw e;
    }
  }

  /**
   * Requires that a volume is in no group by its entry.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the group
   */
  private static void requireInNoGroup(VolumeId id, JournalEntry entry) {
    entry
        .groupId()
        .ifPresent(
            group -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION, "volume " + id + " is a member of group " + group);
            });
  }

  /**
   * Looks whether it can be carried out.
   *
   * @param groupId the RBD group that is deleted with it
   * @throws VolumeException FAILED_PRECONDITION if not
   */
  void requirePossible(String groupId) {
    new ImageDisposal(recovery, volume).requireDisposable(groupId);
  }

  /**
   * Moves the images to the trash, then removes the journal entry.
   *
   * @return the ids of the images in the trash
   * @throws VolumeException FAILED_PRECONDITION if that is not possible; the mark is gone then
   */
  List<String> carryOut() {
    List<String> images;
    try {
      images = new ImageDisposal(recovery, volume).dispose();
    } catch (VolumeException e) {
      callOff();
      throw e;
    }
    journal().remove(volume.entry());
    mark = Optional.empty();
    return images;
  }

  private Journal journal() {
    IoContext imagePool = volume.pool().io();
    IoContext journalPool =
        volume.entry().journalPoolId().isPresent()
            ? volume.lease().rbdPool(volume.entry().journalPoolId().getAsLong())
            : imagePool;
    return new Journal(JournalKind.VOLUME, instanceId, journalPool, imagePool);
  }

  /** Takes the mark back, if there is one. */
  void callOff() {
    mark.ifPresent(made -> attachments.endDeletion(volume.id(), made));
    mark = Optional.empty();
  }

  @Override
  public void close() {
    name.close();
  }
}
