package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.rbd.background.DeletedImages;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.image.RecordedImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves the images of a deleted volume to the trash: its own, and the intermediate one. Snapshots
 * and clones of the volume keep working: the image stays in the trash until they are gone.
 */
final class MoveToTrash {
  private static final Logger LOG = LoggerFactory.getLogger(MoveToTrash.class);

  private static final int ATTEMPTS = 5;

  private static final Set<SnapshotNamespace> GO_WITH_IT =
      EnumSet.of(SnapshotNamespace.TRASH, SnapshotNamespace.MIRROR);

  private final OpenVolume volume;
  private final ImageGroups groups;
  private final RbdPool pool;
  private final String image;
  private final List<String> inTrash = new ArrayList<>();

  /**
   * @param volume the volume that is deleted
   * @param groups takes its image out of groups
   */
  MoveToTrash(OpenVolume volume, ImageGroups groups) {
    this.volume = volume;
    this.groups = groups;
    this.pool = volume.pool();
    this.image = volume.imageName();
  }

  /**
   * Moves the images to the trash.
   *
   * @param before what is done when nothing is in the way, before the volume's own image is moved
   * @return the ids of those that are there now
   * @throws VolumeException FAILED_PRECONDITION if the volume is in use, in a group, or has
   *     snapshots that no driver took
   * @throws CephException.OwnerSilent if a call on an image was given up, and may still be carried
   *     out
   */
  List<String> run(Runnable before) {
    Optional<String> imageId = imageId();
    if (imageId.isPresent()) {
      requireFree(imageId.get(), Optional.empty());
      before.run();
      moveToTrash(image, imageId.get());
    } else {
      // A process died between the trash and the journal.
      volume
          .entry()
          .imageId()
          .filter(id -> pool.trashEntry(id).isPresent())
          .ifPresent(inTrash::add);
    }
    IntermediateImage between = new IntermediateImage(pool, image);
    between
        .find(imageId.or(() -> volume.entry().imageId()))
        .ifPresent(id -> moveToTrash(between.name(), id));
    return inTrash;
  }

  /**
   * Looks whether the images could be moved, and moves none.
   *
   * @param groupId the RBD group that is deleted with the volume
   * @throws VolumeException as {@link #run}
   */
  void requirePossible(String groupId) {
    imageId().ifPresent(id -> requireFree(id, Optional.of(groupId)));
  }

  private Optional<String> imageId() {
    return ImageId.find(pool, image).or(() -> RecordedImage.nameless(pool, volume.entry()));
  }

  private void moveToTrash(String name, String imageId) {
    try {
      TrashMove.move(pool, name, imageId);
      inTrash.add(imageId);
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volume.id() + " is in use (" + e.getMessage() + ")",
          e);
    } catch (CephException.NotFound e) {
      LOG.info(
          "image {} does not exist or was never complete: removing its name from the pool", name);
      CloneSteps.discard(pool, name).ifPresent(inTrash::add);
    } catch (CephException e) {
      if (e.errno() != Errno.EINVAL) {
        throw e;
      }
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.id()
              + ": librbd does not delete its image, as a mirror's secondary, which goes with its"
              + " primary or is promoted before ("
              + e.getMessage()
              + ")",
          e);
    }
  }

  /**
   * Nobody may have the image open: the trash itself would take it all the same. A move that was
   * given up has it open, too, and is asked for first: it may still be carried out.
   *
   * <p>Snapshots in the trash namespace belong to CSI snapshots and clones; those of mirroring
   * librbd removes when it moves the image, which ends its mirroring. One of a user with a name as
   * drivers give it may be a CSI snapshot, or left by an interrupted call: {@link DriverSnapshots}
   * decides before the image is removed. Any other was taken by an administrator.
   */
  private void requireFree(String imageId, Optional<String> groupId) {
    pool.requireAnswers(imageId);
    try {
      ImageUse.requireUnused(pool, imageId, "volume " + volume.id());
    } catch (CephException.NotFound e) {
      LOG.debug("image {} has no header", image);
      return;
    }
    List<HeaderSnapshot> snapshots = snapshots(imageId, groupId);
    if (snapshots.stream().anyMatch(s -> s.namespace() == SnapshotNamespace.GROUP)) {
      groups.endSnapshots(volume, imageId);
      snapshots = snapshots(imageId, groupId);
    }
    List<String> foreign =
        snapshots.stream()
            .filter(snapshot -> !GO_WITH_IT.contains(snapshot.namespace()))
            .map(HeaderSnapshot::name)
            .filter(name -> DeletedImages.parse(name).isEmpty())
            .toList();
    if (!foreign.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.id()
              + " has snapshots that were not taken through CSI; remove them first: "
              + String.join(", ", foreign));
    }
  }

  /** Two round trips, unless a snapshot goes away in between, or the image is in a group. */
  private List<HeaderSnapshot> snapshots(String imageId, Optional<String> groupId) {
    IoContext io = pool.io();
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Optional<ImageHeader> header = ImageHeader.read(io, imageId);
      header
          .flatMap(ImageHeader::group)
          .filter(link -> !groupId.equals(Optional.of(link.groupId())))
          .ifPresent(link -> groups.removeFromGroup(volume, imageId, link));
      try {
        return ImageHeader.snapshots(
            io, imageId, header.map(ImageHeader::snapshotIds).orElse(List.of()));
      } catch (CephException.NotFound e) {
        LOG.debug("a snapshot of image {} was removed meanwhile", image);
      }
    }
    throw new VolumeException(
        Reason.ABORTED, "snapshots of volume " + volume.id() + " are being removed; try again");
  }
}
