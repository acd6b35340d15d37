package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Optional;

/**
 * Whether the passphrase of a volume that is deleted here may still be needed by another site. A
 * KMS has it by the id of the volume, which is the same on all sites; the image of this site may be
 * one that was left behind, or is gone, while another site was promoted and is in use. Blocks on
 * the cluster.
 *
 * @param volume which is deleted
 */
record SharedKey(OpenVolume volume) {
  /** To be asked before the image is moved. One round trip where nothing is mirrored. */
  boolean mayBeNeeded() {
    boolean inKms =
        volume.entry().isEncrypted()
            && volume.session().keys().requireKms(volume.entry()) instanceof KeyStore;
    if (!inKms || volume.pool().mirrorMode() == PoolMirrorMode.DISABLED) {
      return false;
    }
    try (RbdImage image = volume.openReadOnly()) {
      return mayBeNeeded(image.mirror().status());
    } catch (VolumeException | CephException.NotFound e) {
      return !wasMovedByUser();
    }
  }

  /** The image is in the trash since an earlier call, which a mirror's daemon did not do. */
  private boolean wasMovedByUser() {
    return volume
        .entry()
        .imageId()
        .flatMap(id -> volume.pool().trashEntry(id))
        .map(TrashEntry::source)
        .filter(TrashSource.USER::equals)
        .isPresent();
  }

  /**
   * Whether another site may have more than a copy that goes with the image.
   *
   * @param status of the image
   */
  static boolean mayBeNeeded(MirrorStatus status) {
    Optional<MirrorInfo> info = status.info();
    if (info.isEmpty()) {
      return false;
    }
    List<MirrorSite> others = status.remote();
    return !info.get().primary()
        || others.isEmpty()
        || !others.stream().allMatch(site -> site.isUp(MirrorSite.State.REPLAYING));
  }
}
