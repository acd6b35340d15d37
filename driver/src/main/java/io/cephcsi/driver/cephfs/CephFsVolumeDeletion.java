package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;

/**
 * The deletion of one volume. It first marks the journal entry, so that no driver publishes the
 * volume any more, then removes the subvolume or reference, then what opened its files, then the
 * entry. After a crash a repeated call continues at any step. The caller holds the lock of the
 * volume's name.
 *
 * @param files the file system that it is in
 * @param trackers of all file systems
 * @param entry what the journal says of the volume
 */
record CephFsVolumeDeletion(OpenFileSystem files, Trackers trackers, JournalEntry entry) {
  /**
   * Deletes the volume: its subvolume, whose snapshots stay, or its reference to a snapshot, and
   * then its secret in the KMS, and the journal entry. One that another driver has just deleted is
   * deleted.
   *
   * @throws VolumeException FAILED_PRECONDITION if a node has it, or it is in use, or its KMS is
   *     not configured; ABORTED while the manager works on it; as of the KMS, when its data are
   *     gone: the repeated call goes on
   */
  void carryOut() {
    files.keys().requireKnownKms(entry);
    AttachmentJournal attachments = new AttachmentJournal(files.instanceId(), files.metadata());
    String mark;
    try {
      mark = attachments.beginDeletion(id(), entry).value();
    } catch (VolumeException e) {
      if (e.reason() == Reason.NOT_FOUND) {
        return;
      }
      throw e;
    }
    if (entry.backingSnapshot().isPresent()) {
      // Whether the snapshot can be removed or not, the volume has lost its reference: the deletion
      // cannot be cancelled.
      BackingSnapshot.of(files, trackers, entry.backingSnapshot().get()).release(entry.name());
    } else {
      removeSubvolume(attachments, mark);
    }
    files.keys().remove(id(), entry);
    files.volumes().remove(entry);
  }

  private VolumeId id() {
    return files.id(entry.uuid());
  }

  private void removeSubvolume(AttachmentJournal attachments, String mark) {
    try {
      files.deletedNames().whileVolumeGoes(entry, () -> CephFsCloner.remove(files, entry));
    } catch (CephException e) {
      switch (e.errno()) {
        case EAGAIN -> throw CephFsVolumes.notYet("volume " + id(), e);
        case ENOTEMPTY -> {
          attachments.endDeletion(id(), mark);
          throw CephFsVolumes.inUse("volume " + id() + " has snapshots", e);
        }
        default -> throw e;
      }
    }
  }
}
