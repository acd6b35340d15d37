package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.PublishRequest;
import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows staged RBD volumes to workloads: all of a volume, or only its encrypted files. Safe for
 * several threads.
 *
 * @param publications show them
 * @param mounts tell which mounts are ours
 */
record RbdPublishing(Publications publications, RbdMounts mounts) {
  private static final Logger LOG = LoggerFactory.getLogger(RbdPublishing.class);

  /** As {@link io.cephcsi.driver.node.NodeVolumes#publish}. */
  void publish(PublishRequest request, Operation operation) {
    MountFlags.require(request.use());
    Path mountPath = StagingMountPath.require(request.stagingPath(), request.volumeId());
    Optional<StagedImage> staged = StagedImage.read(request.stagingPath());
    staged
        .filter(other -> !other.isOfVolume(request.volumeId()))
        .ifPresent(
            other -> {
              throw refused(
                  request,
                  " is not staged at " + request.stagingPath() + ": " + other.image() + " is");
            });
    Optional<Mount> there = MountTable.read().at(mountPath);
    there
        .filter(mount -> !mounts.isAlive(mount))
        .ifPresent(
            dead -> {
              throw refused(request, ": its device is not served any more; stage it again");
            });
    boolean files =
        staged.filter(StagedImage::files).isPresent()
            || FileSetup.ofFiles(request.context()).isPresent();
    if (files && there.isPresent()) {
      new EncryptedFolder(request.volumeId(), mountPath).requireUnlocked();
    }
    publications.publish(mountPath, files ? EncryptedFolder.NAME : "", request, mounts, operation);
    if (request.use().block() && request.readOnly() && !request.use().readOnly()) {
      LOG.warn(
          "volume {} is published as a device at {} for reading only: its access mode allows"
              + " writing, so that only the container runtime keeps the workload from it",
          request.volumeId(),
          request.target());
    }
  }

  private static VolumeException refused(PublishRequest request, String why) {
    return new VolumeException(Reason.FAILED_PRECONDITION, "volume " + request.volumeId() + why);
  }
}
