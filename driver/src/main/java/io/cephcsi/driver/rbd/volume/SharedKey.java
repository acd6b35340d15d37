package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.rbd.image.FollowingCopy;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;

/**
 * Whether the passphrase of a volume that is deleted here may still be needed by another site. A
 * KMS has it by the id of the volume, which is the same on all sites; the image of this site may be
 * one that was left behind, or is gone, while another site was promoted and is in use. Where the
 * mirroring has ended, the journal entry says whether that was so, and where an earlier call has
 * moved the image, what that call found. Blocks on the cluster.
 *
 * @param volume which is deleted
 */
record SharedKey(OpenVolume volume) {
  /** To be asked before the image is moved. Two round trips where nothing is mirrored. */
  boolean mayBeNeeded() {
    boolean inKms =
        volume.entry().isEncrypted()
            && volume.session().keys().requireKms(volume.entry()) instanceof KeyStore;
    return inKms && (volume.entry().isKeyShared() || hasOthers() || volume.isKeyShared());
  }

  private boolean hasOthers() {
    if (volume.pool().mirrorMode() == PoolMirrorMode.DISABLED) {
      return false;
    }
    try (RbdImage image = volume.openReadOnly()) {
      return !FollowingCopy.areAllOthers(image.mirror().status());
    } catch (VolumeException | CephException.NotFound e) {
      return !wasMovedByCall();
    }
  }

  /**
   * Has the journal entry say that it may be needed: once the image is moved, nothing else tells a
   * repeated call. To be called before; one round trip, unless the entry says so.
   */
  void note() {
    if (!volume.entry().isKeyShared()) {
      volume.noteKeyShared();
    }
  }

  /**
   * The image is in the trash since an earlier call, which noted what it found. What a person
   * moved, or another driver, has no mark: nobody knows what it was then.
   */
  private boolean wasMovedByCall() {
    return volume
        .entry()
        .imageId()
        .filter(id -> TrashMark.find(volume.pool().io(), id).isPresent())
        .isPresent();
  }
}
