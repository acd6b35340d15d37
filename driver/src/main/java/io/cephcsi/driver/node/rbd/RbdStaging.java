package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.UnfinishedStaging;
import io.cephcsi.driver.node.attach.AttachRequest;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attacher;
import io.cephcsi.driver.node.attach.AttacherKind;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.attach.MapOptions;
import io.cephcsi.driver.node.attach.NbdLog;
import io.cephcsi.driver.node.attach.NbdLogs;
import io.cephcsi.driver.node.attach.OpenDevice;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountPoint;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.operation.NodeKeys;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stages RBD volumes, and undoes that. The staging path records an image before it is attached and
 * until it was detached: whatever dies in between, the next call finds what there is.
 */
final class RbdStaging {
  private static final Logger LOG = LoggerFactory.getLogger(RbdStaging.class);

  private final Attachers attachers;
  private final RbdMounts mounts;
  private final LivenessProbes probes;
  private final OperationRegistry operations;
  private final NbdLogs logs;
  private final Path secrets;

  /**
   * @param attachers make images devices
   * @param logs of rbd-nbd
   * @param probes ask their file systems
   * @param operations locks images on this node
   * @param secrets see {@link Cryptsetup}
   */
  RbdStaging(
      Attachers attachers,
      NbdLogs logs,
      LivenessProbes probes,
      OperationRegistry operations,
      Path secrets) {
    this.attachers = attachers;
    this.mounts = new RbdMounts(attachers);
    this.probes = probes;
    this.operations = operations;
    this.logs = logs;
    this.secrets = secrets;
  }

  /**
   * @param key finds what opens a volume that is encrypted
   */
  void stage(
      StageRequest request,
      OpenImage volume,
      Function<EncryptionRequest, VolumeKey> key,
      Operation operation) {
    ImageSpec image =
        new ImageSpec(volume.pool().io().pool(), volume.pool().io().namespace(), volume.name());
    try (OperationRegistry.Hold alone = alone(image, operation.kind())) {
      stage(request, volume, image, key, operation);
    }
  }

  private OperationRegistry.Hold alone(ImageSpec image, String kind) {
    return operations.hold(NodeKeys.image(image.toString()), kind);
  }

  private void stage(
      StageRequest request,
      OpenImage volume,
      ImageSpec image,
      Function<EncryptionRequest, VolumeKey> key,
      Operation operation) {
    String clusterId = volume.lease().config().clusterId();
    Optional<StagedImage> known = known(request, image, clusterId);
    Attacher attacher =
        known.isPresent()
            ? attachers.require(known.get().kind())
            : attachers.choose(request.context(), volume::features, request.use().readOnly());
    Optional<NbdLog> log =
        attacher.kind() == AttacherKind.NBD ? NbdLog.of(request.context()) : Optional.empty();
    AttachRequest attach = attachRequest(request, volume, image, attacher.kind(), log);
    Optional<AttachedDevice> found = attacher.find(image);
    DeviceChecks.require(request, attach, attacher, found, known);
    found = NbdReattachment.attempt(attach, attacher, volume, found);
    FileSetup files = new FileSetup(request, key);
    if (isReady(request, found, known)) {
      UnfinishedStaging.keep(() -> files.complete(mountPath(request), operation));
      return;
    }
    files.askKms();
    volume.requireAncestry();
    Optional<AttachedDevice> present = withoutOtherAccess(attach, attacher, found);
    boolean wasAttached = present.filter(AttachedDevice::alive).isPresent();
    boolean wasOpen = LuksMapping.of(request.volumeId()).isPresent();
    String unmapOptions = MapOptions.UNMAP.of(request.context(), attacher.kind());
    StagedImage staged =
        new StagedImage(image, attacher.kind(), unmapOptions, "", clusterId).with(log);
    boolean recorded = false;
    try (LuksSetup luks = LuksSetup.of(request, volume, key, secrets)) {
      staged = staged.encrypted(luks.isEncrypted(), files.isEncrypted());
      staged.write(request.stagingPath());
      recorded = true;
      operation.phase("attach");
      AttachedDevice device = attach(attacher, attach, volume, present, operation);
      staged.at(device.device()).write(request.stagingPath());
      volume.requireAncestry(); // somebody may have changed the header before it was attached
      try (OpenDevice held = OpenDevice.of(device, attacher)) {
        showAt(request, volume, luks.open(device.device(), operation), files, operation);
      }
    } catch (RuntimeException e) {
      if (recorded) {
        undo(request, known, wasAttached, wasOpen, e);
      }
      throw e;
    }
  }

  /** Where a volume is mounted when it is staged. */
  static Path mountPath(StageRequest request) {
    return StagingMountPath.require(request.stagingPath(), request.volumeId());
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

  private AttachRequest attachRequest(
      StageRequest request,
      OpenImage volume,
      ImageSpec image,
      AttacherKind kind,
      Optional<NbdLog> log) {
    return new AttachRequest(
        volume.lease().config(),
        volume.lease().cluster().fsid(),
        request.credentials(),
        image,
        request.use().readOnly(),
        MapOptions.MAP.of(request.context(), kind),
        request.use().shared(),
        log.map(one -> logs.begin(request.volumeId(), one)));
  }

  /** Whether the volume is mounted already; the mount of a device that died is removed. */
  private boolean isReady(
      StageRequest request, Optional<AttachedDevice> device, Optional<StagedImage> known) {
    Path mountPath = mountPath(request);
    MountTable table = MountTable.read();
    Optional<Mount> there = table.at(mountPath);
    mounts.requireStaged(known, mountPath);
    if (there.isEmpty()) {
      MountPoint.requireNoneElse(mountPath);
      DeadStaging.remove(mountPath, known);
      return false;
    }
    boolean shown =
        device
            .filter(AttachedDevice::alive)
            .flatMap(attached -> BlockDevice.at(attached.device()))
            .filter(found -> found.uses(table).contains(there.get()))
            .isPresent();
    if (shown) {
      StagedMount.requireSame(request, there.get());
      StagedMount.requireAnswer(request, there.get(), probes);
      return true;
    }
    mounts.requireUnserved(there.get());
    LOG.warn(
        "volume {}: the device that is mounted at {} is dead; unmounting it",
        request.volumeId(),
        mountPath);
    DeadStaging.remove(mountPath, known);
    return false;
  }

  /**
   * Takes a device for another access mode away, which is refused while it is in use: what is
   * attached then is this call's to detach.
   *
   * @return the device that stays; empty when there is none
   */
  private static Optional<AttachedDevice> withoutOtherAccess(
      AttachRequest request, Attacher attacher, Optional<AttachedDevice> found) {
    boolean fits =
        found.filter(AttachedDevice::alive).isEmpty()
            || BlockDevice.require(found.get().device()).isReadOnly() == request.readOnly();
    if (fits) {
      return found;
    }
    attacher.detach(request.image(), "");
    return Optional.empty();
  }

  private static AttachedDevice attach(
      Attacher attacher,
      AttachRequest request,
      OpenImage volume,
      Optional<AttachedDevice> present,
      Operation operation) {
    if (request.readOnly() || present.filter(AttachedDevice::alive).isPresent()) {
      return attacher.attach(request); // nobody has to give way to a reader
    }
    if (present.isEmpty()) {
      // What a call that died began to attach may have the image open, and would be waited for.
      attacher.detach(request.image(), "");
    }
    try (SoleWatcher claim = SoleWatcher.take(volume, request.shared(), operation)) {
      operation.phase("attach");
      return attacher.attach(request);
    }
  }

  private static void showAt(
      StageRequest request,
      OpenImage volume,
      LuksSetup.Shown shown,
      FileSetup files,
      Operation operation) {
    Path mountPath = mountPath(request);
    MountPoint.make(mountPath, !request.use().block());
    if (request.use().block()) {
      Mounts.bind(shown.path(), mountPath);
      return;
    }
    new FileSystemSetup(volume, shown, files.isEncrypted(), request.use(), operation)
        .mountAt(mountPath, request.context().getOrDefault("mkfsOptions", ""));
    files.complete(mountPath, operation);
  }

  /**
   * A volume that cannot be staged here may be wanted elsewhere: its device is given back, unless
   * it was there before and nothing says that it was attached for this volume. Likewise its
   * decrypted device.
   *
   * @throws VolumeException as {@link UnfinishedStaging#error}, when something stays
   */
  private void undo(
      StageRequest request,
      Optional<StagedImage> known,
      boolean wasAttached,
      boolean wasOpen,
      RuntimeException reason) {
    try {
      if (wasAttached && known.isEmpty()) {
        Mounts.unmountAll(mountPath(request));
        if (!wasOpen) {
          Mounts.awaitUnmounted(mountPath(request));
          LuksMapping.of(request.volumeId()).ifPresent(LuksMapping::close);
        }
        MountPoint.remove(mountPath(request));
        StagedImage.remove(request.stagingPath());
        return;
      }
      undoStaging(request.stagingPath(), mountPath(request));
    } catch (RuntimeException e) {
      LOG.warn(
          "volume {}: the staging failed and cannot be undone: {}; NodeUnstageVolume tries it"
              + " again",
          request.volumeId(),
          e.getMessage());
      reason.addSuppressed(e);
      throw UnfinishedStaging.error(reason);
    }
  }

  /**
   * Undoes a staging, as far as it got.
   *
   * @throws VolumeException FAILED_PRECONDITION while the volume is shown to workloads; ABORTED
   *     while another call works on its image
   */
  void unstage(Path stagingPath, Path mountPath) {
    Optional<StagedImage> known = StagedImage.read(stagingPath);
    mounts.requireStaged(known, mountPath);
    Optional<ImageSpec> image =
        known
            .map(StagedImage::image)
            .or(() -> attached(known, mountPath).map(AttachedDevice::image));
    try (OperationRegistry.Hold alone =
        image.map(one -> alone(one, "NodeUnstageVolume")).orElse(() -> {})) {
      undoStaging(stagingPath, mountPath);
    }
  }

  private void undoStaging(Path stagingPath, Path mountPath) {
    Optional<StagedImage> known = StagedImage.read(stagingPath);
    boolean made = known.isPresent() || MountTable.read().at(mountPath).isPresent();
    Optional<AttachedDevice> device = attached(known, mountPath);
    Optional<ImageSpec> image =
        known.map(StagedImage::image).or(() -> device.map(AttachedDevice::image));
    Optional<LuksMapping> mapping =
        LuksMapping.of(String.valueOf(mountPath.getFileName()))
            .filter(found -> made) // else it is of where the volume is staged
            .filter(found -> !found.isOfAnother(attachers, image));
    mapping.ifPresent(LuksMapping::requireClosable);
    // An earlier version staged several volumes of one image: the last one takes the device away.
    List<Mount> uses = device.map(AttachedDevice::uses).orElse(List.of());
    List<Path> others = DeviceChecks.stagedElsewhere(uses, mountPath);
    boolean alive = device.filter(AttachedDevice::alive).isPresent();
    if (alive) {
      if (others.isEmpty()) {
        requireUnpublished(device.get(), uses, mountPath);
      }
      Mounts.unmountAll(mountPath);
      Mounts.awaitUnmounted(mountPath);
    } else {
      DeadStaging.remove(mountPath, known);
    }
    mapping.ifPresent(LuksMapping::close);
    if (!others.isEmpty()) {
      LOG.info("{} stays attached: it is also staged at {}", device.get(), others.get(0));
    } else if (known.isPresent()) {
      AttacherKind kind = known.get().kind();
      attachers
          .require(kind)
          .detach(known.get().image(), MapOptions.UNMAP.kept(known.get().unmapOptions(), kind));
      known.get().log().ifPresent(log -> logs.end(String.valueOf(mountPath.getFileName()), log));
    } else {
      device.ifPresent(one -> attachers.require(one.kind()).detach(one.image(), ""));
    }
    if (made) {
      MountPoint.remove(mountPath);
    }
    StagedImage.remove(stagingPath);
  }

  /** The device of what is staged; by the mount where the file that says it was lost. */
  private Optional<AttachedDevice> attached(Optional<StagedImage> known, Path mountPath) {
    if (known.isPresent()) {
      return attachers.require(known.get().kind()).find(known.get().image());
    }
    return MountTable.read().at(mountPath).map(Mount::blockDevice).flatMap(attachers::byDevice);
  }

  private static void requireUnpublished(AttachedDevice device, List<Mount> uses, Path mountPath) {
    Path absolute = mountPath.toAbsolutePath().normalize();
    uses.stream()
        .filter(mount -> !mount.target().equals(absolute))
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  device.image() + " is still published at " + mount.target());
            });
  }
}
