package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.NameRemoval;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Optional;

/**
 * The deletion of a volume that no journal knows: its image goes to the trash and is purged from
 * there.
 */
final class MigratedDeletion {
  private final RbdSession session;
  private final StaticImage volume;

  MigratedDeletion(RbdSession session, StaticImage volume) {
    this.session = session;
    this.volume = volume;
  }

  /**
   * Deletes the volume; one that does not exist is deleted already.
   *
   * @throws VolumeException FAILED_PRECONDITION if the image is in use, in a group, has snapshots,
   *     or is of format 1
   */
  void run() {
    IoContext io;
    try {
      io = session.lease().rbdPool(volume.pool());
    } catch (CephException.NotFound e) {
      return; // with all that was in it
    }
    session.visitTrash(io);
    RbdPool pool = new RbdPool(io);
    Optional<String> imageId = ImageId.find(pool, volume.name());
    if (imageId.isEmpty() && ImageId.isOfFormat1(pool, volume.name())) {
      throw refused("is of format 1: remove it by hand, with rbd rm");
    }
    imageId.ifPresent(id -> delete(pool, id));
  }

  private void delete(RbdPool pool, String imageId) {
    try {
      ImageUse.requireUnused(pool, imageId, "volume " + volume.volumeId());
      requireNothingElse(pool.io(), imageId);
      TrashMove.move(pool, volume.name(), imageId);
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volume.volumeId() + " is in use (" + e.getMessage() + ")",
          e);
    } catch (CephException.NotFound e) {
      forgetName(pool, imageId);
      return;
    }
    session.purge(pool.io(), imageId);
  }

  /** Of an image that was not made to its end, or not removed to its end: only the name is left. */
  private void forgetName(RbdPool pool, String imageId) {
    if (CloneSteps.awaitHeader(pool, imageId).isPresent()) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume " + volume.volumeId() + ": its image was changed meanwhile; try again");
    }
    NameRemoval.forget(pool, volume.name(), imageId);
  }

  /** Snapshots in the trash namespace belong to clones, which keep the image in the trash. */
  private void requireNothingElse(IoContext io, String imageId) {
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.flatMap(ImageHeader::group).isPresent()) {
      throw refused("is in a group of images");
    }
    List<HeaderSnapshot> snapshots =
        ImageHeader.snapshots(io, imageId, header.map(ImageHeader::snapshotIds).orElse(List.of()));
    if (snapshots.stream().anyMatch(s -> s.namespace() != SnapshotNamespace.TRASH)) {
      throw refused("has snapshots");
    }
  }

  private VolumeException refused(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume " + volume.volumeId() + ": its image " + volume.name() + " " + why);
  }
}
