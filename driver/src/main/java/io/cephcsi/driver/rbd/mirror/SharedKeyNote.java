package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.rbd.image.FollowingCopy;
import io.cephcsi.driver.rbd.session.OpenVolume;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The note in the journal entry of an encrypted volume that another site may need its passphrase:
 * written before the mirroring of its image ends, as nothing tells of the other sites after. A KMS
 * has the passphrase by the id of the volume, which is the same on all sites. The entry is of this
 * site alone, and no clone gets it. No driver removes the note while the volume exists.
 */
final class SharedKeyNote {
  private static final Logger LOG = LoggerFactory.getLogger(SharedKeyNote.class);

  private SharedKeyNote() {}

  /**
   * Writes it unless all other sites have copies that go with this image; two round trips. A call
   * that fails after may be repeated: the note stays.
   *
   * @param image of the volume, which is still mirrored
   */
  static void writeIfNeeded(OpenVolume volume, RbdImage image) {
    if (!volume.entry().isEncrypted() || FollowingCopy.areAllOthers(image.mirror().status())) {
      return;
    }
    volume.noteKeyShared();
    LOG.warn(
        "volume {} is not mirrored any more, and another site may need its passphrase: a KMS that"
            + " stores it keeps it when the volume is deleted here",
        volume.id());
  }
}
