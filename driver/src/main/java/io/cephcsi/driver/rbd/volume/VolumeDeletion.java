package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
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
  private final boolean keepsFormerMark;
  private Optional<AttachmentJournal.Mark> mark = Optional.empty();

  /**
   * Locks the volume's name; the caller has locked its id.
   *
   * @throws VolumeException ABORTED if another call has the name
   */
  public VolumeDeletion(OpenVolume volume, ImageGroups groups) {
    this(volume, groups, holdName(volume), false);
  }

  private VolumeDeletion(
      OpenVolume volume, ImageGroups groups, OperationRegistry.Hold name, boolean keepsFormerMark) {
    this.volume = volume;
    this.groups = groups;
    this.attachments = volume.attachments();
    this.name = name;
    this.keepsFormerMark = keepsFormerMark;
  }

  private static OperationRegistry.Hold holdName(OpenVolume volume) {
    return volume
        .session()
        .operations()
        .hold(OperationRegistry.volumeName(volume.entry().requestName()), "DeleteVolume");
  }

  /** Of a volume whose name the caller has locked. */
  static VolumeDeletion withNameLocked(OpenVolume volume, ImageGroups groups) {
    return new VolumeDeletion(volume, groups, () -> {}, false);
  }

  /**
   * As {@link #VolumeDeletion(OpenVolume, ImageGroups)}, of a volume that is deleted with its
   * group. If another deletion had marked it, it stays marked when this one fails: another driver
   * may be deleting the group.
   */
  public static VolumeDeletion withGroup(OpenVolume volume, ImageGroups groups) {
    return new VolumeDeletion(volume, groups, holdName(volume), true);
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
    if (mirrored && isLostCopy()) {
      throw lostCopy(); // also where its daemon has it open
    }
    new MoveToTrash(volume, groups).requirePossible(groupId);
  }

  private VolumeException lostCopy() {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + volume.id()
            + " is a copy that follows no primary, or whose other site has no daemon that runs:"
            + " promote it before, or end its replication (by force)");
  }

  /** Whether librbd does not delete it, and no primary does. */
  private boolean isLostCopy() {
    try (RbdImage image = volume.openReadOnly()) {
      return image.mirroring().filter(info -> !info.primary()).isPresent()
          && !FollowingCopy.hasLivingPrimary(image.mirror().status());
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
   * @throws VolumeException FAILED_PRECONDITION if that is not possible; as of {@link #cancel}. As
   *     of the KMS, when the images are in the trash: they go all the same, the mark stays, and the
   *     repeated call goes on
   * @throws CephException.OwnerSilent if the client with the lock of an image does not answer; as
   *     of {@link #cancel}
   */
  public void carryOut() {
    List<String> images;
    boolean keyStays;
    try {
      volume.session().keys().requireKnownKms(volume.entry());
      SharedKey key = new SharedKey(volume);
      keyStays = key.mayBeNeeded();
      images = new MoveToTrash(volume, groups).run(keyStays ? key::note : () -> {});
    } catch (VolumeException e) {
      if (e.reason() == Reason.FAILED_PRECONDITION && isFollowingCopy()) {
        removeEntry();
        return;
      }
      cancel();
      throw e.reason() == Reason.FAILED_PRECONDITION && isLostCopy() ? lostCopy() : e;
    } catch (CephException.OwnerSilent e) {
      cancel();
      throw e;
    }
    if (keyStays) {
      LOG.warn(
          "the passphrase of volume {} stays in its KMS: another site may need it;"
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
      return FollowingCopy.hasLivingPrimary(image.mirror().status());
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

  /**
   * Takes the mark back, if there is one, and it is not to stay: another driver may be at the
   * deletion, or the image on its way to the trash. A move that was given up, here or by another
   * driver, may still be carried out, under a node that got the volume.
   */
  public void cancel() {
    mark.filter(made -> !isOnItsWay()).ifPresent(this::cancel);
    mark = Optional.empty();
  }

  private void cancel(AttachmentJournal.Mark made) {
    if (keepsFormerMark && made.replacedAnother()) {
      LOG.warn(
          "volume {} was marked as being deleted before this call, and stays so, as another driver"
              + " may be at it: it cannot be published until DeleteVolumeGroup succeeds",
          volume.id());
    } else {
      attachments.endDeletion(volume.id(), made.value());
    }
  }

  private boolean isOnItsWay() {
    IoContext io = volume.pool().io();
    try {
      return ImageId.find(volume.pool(), volume.imageName())
          .or(() -> volume.entry().imageId())
          .filter(id -> TrashMark.isAnnounced(io, id) || TrashMark.isInTrash(io, id))
          .isPresent();
    } catch (CephException e) {
      LOG.warn("volume {} stays marked as being deleted: {}", volume.id(), e.getMessage());
      return true;
    }
  }

  @Override
  public void close() {
    name.close();
  }
}
