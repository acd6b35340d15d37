package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.image.FollowingCopy;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The deletion of one volume: marks the journal entry first, so that no driver publishes the volume
 * or adds it to a group, then carries the deletion out or cancels it. Holds the lock of the
 * volume's name until it is closed. Used by one thread.
 */
public final class VolumeDeletion implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(VolumeDeletion.class);

  private final OpenVolume volume;
  private final ImageGroups groups;
  private final OperationRegistry.Hold name;
  private final AttachmentJournal attachments;
  private Optional<String> mark = Optional.empty();

  /**
   * Locks the volume's name; the caller has locked its id.
   *
   * @throws VolumeException ABORTED if another call has the name
   */
  public VolumeDeletion(OpenVolume volume, ImageGroups groups) {
    this(
        volume,
        groups,
        volume
            .session()
            .operations()
            .hold(OperationRegistry.volumeName(volume.entry().requestName()), "DeleteVolume"));
  }

  private VolumeDeletion(OpenVolume volume, ImageGroups groups, OperationRegistry.Hold name) {
    this.volume = volume;
    this.groups = groups;
    this.attachments = volume.attachments();
    this.name = name;
  }

  /** Of a volume whose name the caller has locked. */
  static VolumeDeletion withNameLocked(OpenVolume volume, ImageGroups groups) {
    return new VolumeDeletion(volume, groups, () -> {});
  }

  public OpenVolume volume() {
    return volume;
  }

  /**
   * Deletes the volume, unless another driver has just done so.
   *
   * @throws VolumeException as of {@link #begin} and {@link #carryOut}
   */
  void run() {
    if (begin()) {
      carryOut();
    }
  }

  /**
   * Marks the volume.
   *
   * @return false if another driver has just deleted it
   * @throws VolumeException FAILED_PRECONDITION if it is published, or in a group by its entry;
   *     ABORTED if another driver has just called off a deletion that its entry tells of
   */
  public boolean begin() {
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
  public void requirePossible(String groupId) {
    boolean mirrored = volume.pool().mirrorMode() != PoolMirrorMode.DISABLED;
    if (mirrored && isFollowingCopy()) {
      return; // its daemon has it open; only its entry is removed
    }
    new MoveToTrash(volume, groups).requirePossible(groupId);
    if (mirrored && isLostCopy()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.id()
              + " is a copy that follows no primary: promote it before, or end its replication");
    }
  }

  /** Whether librbd does not delete it, and no primary does. */
  private boolean isLostCopy() {
    try (RbdImage image = volume.openReadOnly()) {
      return image.mirroring().filter(info -> !info.primary()).isPresent()
          && !FollowingCopy.is(image.mirror().status());
    } catch (VolumeException | CephException e) {
      return false; // it is gone, or cannot be opened: the deletion tells
    }
  }

  /**
   * Moves the images to the trash, then has a KMS remove the passphrase, removes the journal entry,
   * and has the trash emptied. Of the copy of an image of another site only the entry is removed,
   * if the copy follows its primary, with which it goes. A passphrase that another site may need
   * stays.
   *
   * @throws VolumeException FAILED_PRECONDITION if that is not possible; the mark is gone then. As
   *     of the KMS, when the images are in the trash: they go all the same, the mark stays, and the
   *     repeated call goes on
   */
  public void carryOut() {
    List<String> images;
    boolean keyStays;
    try {
      volume.session().keys().requireKnownKms(volume.entry());
      keyStays = new SharedKey(volume).mayBeNeeded();
      images = new MoveToTrash(volume, groups).run();
    } catch (VolumeException e) {
      if (e.reason() == Reason.FAILED_PRECONDITION && isFollowingCopy()) {
        removeEntry();
        return;
      }
      cancel();
      throw e;
    }
    if (keyStays) {
      LOG.warn(
          "the passphrase of volume {} stays in its KMS: another site that mirrors it may need it;"
              + " remove it there when no site has the volume",
          volume.id());
    } else {
      removeKey(images);
    }
    removeEntry();
    purge(images);
  }

  /**
   * When the KMS fails, only the entry waits for it. What is mirrored stays, too: the trash tells
   * the repeated call who moved it there, see {@link SharedKey}.
   */
  private void removeKey(List<String> images) {
    try {
      volume.session().keys().remove(volume.id(), volume.entry());
    } catch (VolumeException e) {
      if (volume.pool().mirrorMode() == PoolMirrorMode.DISABLED) {
        purge(images);
      }
      throw e;
    }
  }

  private void purge(List<String> images) {
    images.forEach(image -> volume.session().purge(volume.pool().io(), image));
  }

  /** Asked when the image is in use or cannot be deleted, as the daemon's copies are. */
  private boolean isFollowingCopy() {
    try (RbdImage image = volume.openReadOnly()) {
      return FollowingCopy.is(image.mirror().status());
    } catch (VolumeException | CephException e) {
      return false; // why it is not deleted is told already
    }
  }

  private void removeEntry() {
    volume
        .session()
        .journal(JournalKind.VOLUME, volume.journalPool(), volume.pool().io())
        .remove(volume.entry());
    mark = Optional.empty();
  }

  /** Takes the mark back, if there is one. */
  public void cancel() {
    mark.ifPresent(made -> attachments.endDeletion(volume.id(), made));
    mark = Optional.empty();
  }

  @Override
  public void close() {
    name.close();
  }
}
