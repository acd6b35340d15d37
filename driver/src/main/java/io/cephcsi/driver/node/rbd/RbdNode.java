package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.GroupOwnership;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.NodeVolumes;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.PublishRequest;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.UnfinishedStaging;
import io.cephcsi.driver.node.VolumeStats;
import io.cephcsi.driver.node.VolumeStats.Amount;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.NbdLogs;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** RBD volumes on this node. Safe for several threads. */
public final class RbdNode implements NodeVolumes {
  // Without fast-diff every object is asked for: about 18,000 a second.
  private static final long MAX_OBJECTS_WALKED = 200_000;

  private static final Logger LOG = LoggerFactory.getLogger(RbdNode.class);

  private final RbdSessions sessions;
  private final Attachers attachers;
  private final RbdMounts mounts;
  private final Publications publications;
  private final LivenessProbes probes;
  private final TrimLocks trims;
  private final Path secrets;
  private final RbdStaging staging;

  /**
   * @param sessions of the calls
   * @param attachers make them devices
   * @param logs of rbd-nbd
   * @param publications show them
   * @param probes ask their file systems
   * @param trims stops a trim before the volume is unmounted
   * @param operations locks images on this node
   * @param secrets where files with secrets are, see {@link
   *     io.cephcsi.driver.node.machine.SecretFile}
   */
  public RbdNode(
      RbdSessions sessions,
      Attachers attachers,
      NbdLogs logs,
      Publications publications,
      LivenessProbes probes,
      TrimLocks trims,
      OperationRegistry operations,
      Path secrets) {
    this.sessions = sessions;
    this.attachers = attachers;
    this.mounts = new RbdMounts(attachers);
    this.publications = publications;
    this.probes = probes;
    this.trims = trims;
    this.secrets = secrets;
    this.staging = new RbdStaging(attachers, logs, probes, operations, secrets);
  }

  @Override
  public void stage(StageRequest request, Operation operation) {
    UnfinishedStaging.attempt(() -> stageOrFail(request, operation), () -> isLeft(request));
  }

  private static boolean isLeft(StageRequest request) {
    return StagingMountPath.of(request.stagingPath(), request.volumeId())
        .filter(StagedImage::isOfPlace)
        .isPresent();
  }

  private void stageOrFail(StageRequest request, Operation operation) {
    DiskFileSystems.requireKnown(request.use().fsType());
    GroupOwnership.requireKnown(request.use());
    RbdOptions.require(request.context(), request.use());
    FileSetup.ofFiles(request.context())
        .ifPresent(wanted -> wanted.requireUse(request.use().block(), request.use().fsType()));
    if (request.staticVolume().isPresent()) {
      StaticImage image = StaticImage.of(request.staticVolume().get());
      LuksSetup.requireNameable(request);
      requirePlace(request);
      sessions.with(
          image,
          request.credentials(),
          open -> {
            open.require(); // before anything is written down
            return stage(
                request,
                open,
                wanted -> VolumeKeys.of(sessions.settings().kms(), request, open, wanted),
                operation);
          });
      return;
    }
    VolumeId id = parsed(request.volumeId());
    requirePlace(request);
    sessions.with(
        id,
        request.credentials(),
        volume -> {
          VolumeKeys.requireSaid(volume, request);
          volume.endCutOffFlatten(); // an attacher could not open the image
          return stage(
              request, volume.image(), wanted -> VolumeKeys.of(volume, request, wanted), operation);
        });
  }

  private void requirePlace(StageRequest request) {
    Path mountPath = StagingMountPath.require(request.stagingPath(), request.volumeId());
    publications.requireOutside(mountPath, "staging_target_path", Reason.INVALID_ARGUMENT, mounts);
  }

  private @Nullable Void stage(
      StageRequest request,
      OpenImage image,
      Function<EncryptionRequest, VolumeKey> key,
      Operation operation) {
    staging.stage(request, image, key, operation);
    return null;
  }

  private static VolumeId parsed(String volumeId) {
    return VolumeId.parse(volumeId)
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    "volume " + volumeId + " does not exist: not an id of ours, nor staticVolume"));
  }

  @Override
  public void unstage(String volumeId, Path stagingPath) {
    Optional<Path> mountPath = StagingMountPath.of(stagingPath, volumeId);
    if (mountPath.isEmpty()) {
      return; // it was never staged
    }
    publications.requireOutside(
        mountPath.get(), "staging_target_path", Reason.FAILED_PRECONDITION, mounts);
    Optional<StagedImage> other = StagedImage.ofAnother(stagingPath, volumeId);
    if (other.isPresent()) {
      leave(volumeId, mountPath.get(), other.get());
      return;
    }
    try (TrimLocks.Stopped stopped = trims.stop(volumeId)) {
      staging.unstage(stagingPath, mountPath.get());
    }
  }

  /** Another volume is staged there: this one is not, so nothing has to be undone. */
  private static void leave(String volumeId, Path mountPath, StagedImage other) {
    if (MountTable.read().at(mountPath).isPresent()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          mountPath + " is mounted, but image-meta.json beside it names " + other.image());
    }
    LOG.warn(
        "volume {} is not staged at {}: image {} is; nothing is done",
        volumeId,
        mountPath.getParent(),
        other.image());
  }

  @Override
  public void publish(PublishRequest request, Operation operation) {
    new RbdPublishing(publications, mounts).publish(request, operation);
  }

  @Override
  public void unpublish(String volumeId, Path target) {
    publications.unpublish(volumeId, target, mounts);
  }

  /** As {@link RbdMounts#isAlive}. */
  boolean isAlive(Mount mount) {
    return mounts.isAlive(mount);
  }

  /**
   * Where a volume is seen on this node: where it is staged if that is known, else where it is
   * shown.
   *
   * @throws VolumeException NOT_FOUND when it is mounted at neither path
   */
  Mount mounted(String id, Optional<Path> volumePath, Optional<Path> stagingPath) {
    MountTable table = MountTable.read();
    Mount mount =
        stagingPath
            .flatMap(path -> StagingMountPath.of(path, id))
            .flatMap(table::at)
            .or(() -> volumePath.flatMap(table::at))
            .or(() -> volumePath.flatMap(path -> StagingMountPath.of(path, id)).flatMap(table::at))
            .orElseThrow(
                () ->
                    VolumeException.notFound(
                        "volume "
                            + id
                            + " is not mounted at "
                            + volumePath.or(() -> stagingPath).orElseThrow()));
    requireOf(id, mount);
    return mount;
  }

  private void requireOf(String id, Mount mount) {
    if (!publications.isOf(id, mount, mounts)) {
      throw VolumeException.notFound("volume " + id + " is not at " + mount.target());
    }
  }

  @Override
  public long expand(
      String id,
      Path volumePath,
      Optional<Path> stagingPath,
      long required,
      ClusterUsers users,
      Operation operation) {
    Mount mount = mounted(id, Optional.of(volumePath), stagingPath);
    AttachedDevice device =
        attachers
            .byDevice(mount.blockDevice())
            .filter(AttachedDevice::alive)
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.UNAVAILABLE,
                        "volume " + id + ": its device is not served any more"));
    // Who may not ask for the image's size takes that of the request: the image has grown before.
    long size =
        ofImage(id, mount, users, RbdImage::size)
            .orElseGet(() -> Math.max(required, BlockDevice.require(device.device()).size()));
    operation.phase("grow the device");
    attachers.require(device.kind()).grow(device, size);
    Optional<Path> decrypted = LuksDevices.find(id);
    if (decrypted.isPresent()) {
      new Cryptsetup(id, device.device(), secrets).resize();
    }
    Path shown = decrypted.orElse(device.device());
    if (!mount.isDevice() && !mount.superOptions().contains("ro")) {
      operation.phase("grow the file system");
      FileSystemSetup.grow(mount.fsType(), shown, mount.target());
    }
    return BlockDevice.require(device.device()).size();
  }

  /**
   * Works on the image of a mounted volume. The identifier of one that no driver made does not say
   * where that is, but the file beside its staging path does.
   *
   * @return empty when nobody may, or the file does not say the cluster
   */
  private <T> Optional<T> onImage(
      String volumeId, Mount mount, ClusterUsers users, Function<OpenImage, T> work) {
    Optional<VolumeId> id = VolumeId.parse(volumeId);
    if (id.isPresent()) {
      return users
          .of(id.get().clusterId())
          .map(user -> sessions.with(id.get(), user, volume -> work.apply(volume.image())));
    }
    return staged(volumeId, mount)
        .flatMap(
            image -> users.of(image.clusterId()).map(user -> sessions.with(image, user, work)));
  }

  private static Optional<StaticImage> staged(String volumeId, Mount mount) {
    return BlockDevice.require(mount.blockDevice()).uses(MountTable.read()).stream()
        .map(Mount::target)
        .filter(target -> volumeId.equals(String.valueOf(target.getFileName())))
        .flatMap(target -> StagedImage.beside(target).stream())
        .filter(staged -> !staged.clusterId().isEmpty())
        .findFirst()
        .map(
            staged ->
                new StaticImage(
                    volumeId, staged.clusterId(), staged.image().pool(), staged.image().image()));
  }

  @Override
  public VolumeStats stats(String id, Path volumePath, ClusterUsers users) {
    MountTable table = MountTable.read();
    Optional<Mount> mount =
        table
            .at(volumePath)
            .or(() -> StagingMountPath.of(volumePath, id).flatMap(table::at)); // only staged yet
    if (mount.isEmpty()) {
      throw VolumeException.notFound(
          "volume "
              + id
              + " is not at "
              + volumePath
              + (Files.exists(volumePath, LinkOption.NOFOLLOW_LINKS)
                  ? ": nothing is mounted there"
                  : ", which does not exist"));
    }
    requireOf(id, mount.get());
    if (!mounts.isAlive(mount.get())) {
      return VolumeStats.dead(
          "the device " + mount.get().blockDevice() + " is not served any more: stage it again");
    }
    return mount.get().isDevice()
        ? blockStats(id, mount.get(), users)
        : fileSystemStats(mount.get());
  }

  private VolumeStats blockStats(String id, Mount mount, ClusterUsers users) {
    long total = BlockDevice.require(mount.blockDevice()).size();
    OptionalLong used = ofImage(id, mount, users, RbdNode::usage).orElse(OptionalLong.empty());
    // What a client may write is the whole device, whatever is allocated of it.
    Amount amount =
        used.isPresent()
            ? new Amount(total, used.getAsLong(), Math.max(0, total - used.getAsLong()))
            : new Amount(total, 0, 0);
    return new VolumeStats(Optional.of(amount), Optional.empty(), false, "the volume is healthy");
  }

  private VolumeStats fileSystemStats(Mount mount) {
    Optional<MountedFileSystem.Room> answer;
    try {
      answer = probes.room(mount);
    } catch (CephException e) {
      return VolumeStats.dead("the file system is dead: " + e.getMessage());
    }
    if (answer.isEmpty()) {
      return VolumeStats.dead("the file system does not answer");
    }
    MountedFileSystem.Room room = answer.get();
    return new VolumeStats(
        Optional.of(new Amount(room.totalBytes(), room.usedBytes(), room.availableBytes())),
        Optional.of(new Amount(room.files(), room.files() - room.freeFiles(), room.freeFiles())),
        mount.hasFailed(),
        mount.hasFailed()
            ? "the kernel lets nobody write to the file system after an error"
            : "the volume is healthy");
  }

  /**
   * Reads from a mounted volume's image.
   *
   * @return empty when nobody may ask for it
   */
  <T> Optional<T> ofImage(String id, Mount mount, ClusterUsers users, Function<RbdImage, T> read) {
    return onImage(
        id,
        mount,
        users,
        open -> {
          try (RbdImage image = open.openReadOnly()) {
            return read.apply(image);
          }
        });
  }

  /** The allocated bytes of an image; empty when only too long a walk could tell. */
  static OptionalLong usage(RbdImage image) {
    return new UsageMeter(image.pool())
        .measure(image.id(), new UsageQuery(false, false, MAX_OBJECTS_WALKED))
        .map(usage -> OptionalLong.of(usage.headBytes()))
        .orElse(OptionalLong.empty());
  }
}
