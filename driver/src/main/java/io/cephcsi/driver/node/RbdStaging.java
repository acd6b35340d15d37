package io.cephcsi.driver.node;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.OpenImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes RBD volumes ready in their staging paths, and undoes that. What is attached is written down
 * in the staging path before it is attached and forgotten after it was detached, so that whatever
 * dies, the next call finds what there is.
 */
final class RbdStaging {
  private static final Logger LOG = LoggerFactory.getLogger(RbdStaging.class);

  private final Attachers attachers;
  private final LivenessProbes probes;
  private final MountOwner owner;

  /**
   * @param attachers make images devices
   * @param probes ask their file systems
   * @param owner knows what is ours
   */
  RbdStaging(Attachers attachers, LivenessProbes probes, MountOwner owner) {
    this.attachers = attachers;
    this.probes = probes;
    this.owner = owner;
  }

  void stage(StageRequest request, OpenImage volume, Operation operation) {
    ImageSpec image =
        new ImageSpec(volume.pool().io().pool(), volume.pool().io().namespace(), volume.name());
    String clusterId = volume.lease().config().clusterId();
    Optional<StagedImage> known = known(request, image, clusterId);
    Attacher attacher =
        known.isPresent()
            ? attachers.require(known.get().kind())
            : attachers.choose(request.context());
    AttachRequest attach = attachRequest(request, volume, image, attacher.kind());
    requireNotOfAnother(clusterId, attacher.find(image));
    requireNotElsewhere(request, attacher.find(image));
    requireOf(attach, attacher, known);
    TakeOver.attempt(attach, attacher, volume);
    if (isReady(request, attacher.find(image), known)) {
      return;
    }
    String unmapOptions = MapOptions.UNMAP.of(request.context(), attacher.kind());
    new StagedImage(image, attacher.kind(), unmapOptions, "", clusterId)
        .write(request.stagingPath());
    boolean wasAttached = attacher.find(image).filter(AttachedDevice::alive).isPresent();
    try {
      operation.phase("attach");
      AttachedDevice device = attach(attacher, attach, volume, wasAttached, operation);
      new StagedImage(image, attacher.kind(), unmapOptions, device.device().toString(), clusterId)
          .write(request.stagingPath());
      showAt(request, volume, device, operation);
    } catch (RuntimeException e) {
      undo(request, e);
      throw e;
    }
  }

  /** Where a volume is made ready. */
  static Path place(StageRequest request) {
    return StagingPlace.require(request.stagingPath(), request.volumeId());
  }

  /**
   * What is staged of the image on this node is of the same cluster: images that no driver made may
   * have the same name on two clusters.
   */
  private static void requireNotOfAnother(String clusterId, Optional<AttachedDevice> device) {
    device
        .map(AttachedDevice::uses)
        .orElse(List.of())
        .forEach(
            mount ->
                StagedImage.beside(mount.target())
                    .filter(staged -> !staged.isOf(clusterId))
                    .ifPresent(
                        staged -> {
                          throw new VolumeException(
                              Reason.FAILED_PRECONDITION,
                              "this node has "
                                  + staged.image()
                                  + " of cluster \""
                                  + staged.clusterId()
                                  + "\" at "
                                  + mount.target()
                                  + ": one of the same name cannot be staged beside it");
                        }));
  }

  /** A volume has one staging path on a node: another one's unstaging would end this one's. */
  private static void requireNotElsewhere(StageRequest request, Optional<AttachedDevice> device) {
    Path place = place(request);
    List<Path> places =
        device.map(AttachedDevice::uses).orElse(List.of()).stream().map(Mount::target).toList();
    if (!places.contains(place)) {
      places.stream()
          .filter(other -> place.getFileName().equals(other.getFileName()))
          .filter(StagedImage::isBeside)
          .findFirst()
          .ifPresent(
              other -> {
                throw new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "volume "
                        + request.volumeId()
                        + " is staged at "
                        + other.getParent()
                        + ": unstage it there");
              });
    }
  }

  /**
   * A device of the image that is there already is of the same cluster, whoever attached it. Where
   * it does not tell, only what was written down when it was attached for this volume says so; a
   * dead one that nobody uses is replaced.
   */
  private static void requireOf(
      AttachRequest request, Attacher attacher, Optional<StagedImage> known) {
    String clusterId = request.cluster().clusterId();
    attacher
        .find(request.image())
        .filter(
            device ->
                !attacher
                    .isOf(device, request)
                    .orElseGet(
                        () ->
                            isWrittenDown(known, device, clusterId)
                                || (!device.alive() && device.uses().isEmpty())))
        .ifPresent(
            device -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  device.device()
                      + " is "
                      + device.image()
                      + " of another cluster than \""
                      + clusterId
                      + "\", or does not tell of which: one of the same name cannot be staged"
                      + " beside it");
            });
  }

  private static boolean isWrittenDown(
      Optional<StagedImage> known, AttachedDevice device, String clusterId) {
    return known
        .filter(staged -> staged.clusterId().equals(clusterId))
        .filter(staged -> staged.device().equals(device.device().toString()))
        .isPresent();
  }

  /** What is written down in the staging path, which is made. */
  private static Optional<StagedImage> known(
      StageRequest request, ImageSpec image, String clusterId) {
    makeFolder(request.stagingPath());
    Optional<StagedImage> known = StagedImage.read(request.stagingPath());
    if (known.isEmpty()) {
      return known;
    }
    if (!known.get().image().equals(image) || !known.get().isOf(clusterId)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "the staging path " + request.stagingPath() + " has " + known.get().image() + " staged");
    }
    return known;
  }

  private static void makeFolder(Path stagingPath) {
    try {
      Files.createDirectories(stagingPath);
    } catch (IOException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "staging_target_path " + stagingPath + " cannot be made: " + e.getMessage(),
          e);
    }
  }

  private static AttachRequest attachRequest(
      StageRequest request, OpenImage volume, ImageSpec image, AttacherKind kind) {
    return new AttachRequest(
        volume.lease().config(),
        volume.lease().cluster().fsid(),
        request.credentials(),
        image,
        request.use().readOnly(),
        MapOptions.MAP.of(request.context(), kind),
        request.use().shared());
  }

  /** Whether the volume is at its place; what is there of a device that died is removed. */
  private boolean isReady(
      StageRequest request, Optional<AttachedDevice> device, Optional<StagedImage> known) {
    Path place = place(request);
    MountTable table = MountTable.read();
    Optional<Mount> there = table.at(place);
    Publications.requireOurs(place, owner);
    if (there.isEmpty()) {
      MountPoint.requireNoneElse(place);
      DeadStaging.remove(place, known);
      return false;
    }
    boolean shown =
        device
            .filter(AttachedDevice::alive)
            .flatMap(attached -> BlockDevice.at(attached.device()))
            .filter(found -> found.uses(table).contains(there.get()))
            .isPresent();
    if (shown) {
      requireSame(request, there.get());
      requireNotShutDown(request, there.get());
      own(request);
      return true;
    }
    LOG.warn("volume {}: what is mounted at {} is dead and removed", request.volumeId(), place);
    DeadStaging.remove(place, known);
    return false;
  }

  private static void requireSame(StageRequest request, Mount there) {
    boolean block = there.isDevice();
    boolean otherKind =
        !block
            && !request.use().fsType().isEmpty()
            && !request.use().fsType().equals(there.fsType());
    boolean otherAccess =
        !block && there.options().contains("ro") != request.use().mountedReadOnly();
    if (block != request.use().block() || otherKind || otherAccess) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + request.volumeId()
              + " is staged at "
              + request.stagingPath()
              + " with another volume_capability");
    }
    if (!block && there.hasFailed()) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "volume "
              + request.volumeId()
              + ": the kernel lets nobody write to its file system after an error (see its log);"
              + " unpublish and unstage it, and it is checked when it is staged again");
    }
  }

  /** XFS that has shut down, as when its device came back too late, looks sound in the table. */
  private void requireNotShutDown(StageRequest request, Mount there) {
    if (there.isDevice()) {
      return;
    }
    try {
      probes.room(there);
    } catch (CephException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "volume "
              + request.volumeId()
              + ": the file system at "
              + there.target()
              + " is shut down: unpublish and unstage it",
          e);
    }
  }

  private static AttachedDevice attach(
      Attacher attacher,
      AttachRequest request,
      OpenImage volume,
      boolean wasAttached,
      Operation operation) {
    if (wasAttached || request.readOnly()) {
      return attacher.attach(request); // nobody has to give way to a reader
    }
    if (attacher.find(request.image()).isEmpty()) {
      // What a call that died began to attach may have the image open, and would be waited for.
      attacher.detach(request.image(), "");
    }
    try (ImageClaim claim = ImageClaim.take(volume, request.shared(), operation)) {
      operation.phase("attach");
      return attacher.attach(request);
    }
  }

  private static void showAt(
      StageRequest request, OpenImage volume, AttachedDevice device, Operation operation) {
    Path place = place(request);
    MountPoint.make(place, !request.use().block());
    if (request.use().block()) {
      Mounts.bind(device.device(), place);
      return;
    }
    new FileSystemSetup(volume, device.device(), request.use(), operation)
        .mountAt(place, request.context().getOrDefault("mkfsOptions", ""));
    own(request);
  }

  private static void own(StageRequest request) {
    VolumeUse use = request.use();
    if (!use.group().isEmpty() && !use.block() && !use.mountedReadOnly()) {
      GroupOwnership.give(place(request), use.group());
    }
  }

  /** A volume that cannot be staged here may be wanted elsewhere: its device is given back. */
  private void undo(StageRequest request, RuntimeException reason) {
    try {
      unstage(request.stagingPath(), place(request));
    } catch (RuntimeException e) {
      LOG.warn("volume {} stays half staged: {}", request.volumeId(), e.getMessage());
      reason.addSuppressed(e);
    }
  }

  /**
   * Undoes a staging, as far as it got.
   *
   * @throws VolumeException FAILED_PRECONDITION while the volume is shown to workloads
   */
  void unstage(Path stagingPath, Path place) {
    Publications.requireOurs(place, owner);
    Optional<StagedImage> known = StagedImage.read(stagingPath);
    Optional<AttachedDevice> device = attached(known, place);
    Optional<LuksMapping> mapping =
        known
            .filter(StagedImage::encrypted)
            .flatMap(staged -> LuksMapping.of(String.valueOf(place.getFileName())));
    mapping.ifPresent(LuksMapping::requireClosable);
    boolean alive = device.filter(AttachedDevice::alive).isPresent();
    if (alive) {
      requireUnpublished(device.get(), place);
      Mounts.unmountAll(place);
      Mounts.awaitUnmounted(place);
    } else {
      DeadStaging.remove(place, known);
    }
    mapping.ifPresent(LuksMapping::close);
    if (known.isPresent()) {
      AttacherKind kind = known.get().kind();
      attachers
          .require(kind)
          .detach(known.get().image(), MapOptions.UNMAP.kept(known.get().unmapOptions(), kind));
    } else if (device.isPresent()) {
      detachForgotten(device.get());
    }
    MountPoint.remove(place);
    StagedImage.remove(stagingPath);
  }

  /** The device of what is staged; by the mount where the file that says it was lost. */
  private Optional<AttachedDevice> attached(Optional<StagedImage> known, Path place) {
    if (known.isPresent()) {
      return attachers.require(known.get().kind()).find(known.get().image());
    }
    return MountTable.read().at(place).map(Mount::blockDevice).flatMap(attachers::byDevice);
  }

  private static void requireUnpublished(AttachedDevice device, Path place) {
    Path absolute = place.toAbsolutePath().normalize();
    device.uses().stream()
        .filter(mount -> !mount.target().equals(absolute))
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  device.image() + " is still published at " + mount.target());
            });
  }

  private void detachForgotten(AttachedDevice device) {
    attachers.all().stream()
        .filter(attacher -> attacher.at(device.device()).isPresent())
        .forEach(attacher -> attacher.detach(device.image(), ""));
  }
}
