package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.cephfs.CephFsVolumes;
import io.cephcsi.driver.cephfs.VolumeLocation;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.GroupOwnership;
import io.cephcsi.driver.node.KubeletPaths;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.NodeVolumes;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.PublishRequest;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.UnfinishedStaging;
import io.cephcsi.driver.node.VolumeStats;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountPoint;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.node.machine.Sysfs;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * CephFS volumes on this node. A volume is mounted at its staging path itself, as ceph-csi does it,
 * and bound from there; what is mounted, the kernel's table tells, so that nothing else is kept.
 *
 * <p>A shallow volume's staging path shows the snapshot and never the directory above it: that is
 * mounted in a private directory, only for as long as it takes to bind the snapshot. Safe for
 * several threads.
 */
public final class CephFsNode implements NodeVolumes {
  private static final Logger LOG = LoggerFactory.getLogger(CephFsNode.class);
  private static final int DEAD_MOUNTS = 8;

  private final CephFsVolumes volumes;
  private final CephFsMounters mounters;
  private final Publications publications;
  private final LivenessProbes probes;
  private final PrivateMounts parents;
  private final StagingRecords stagings;
  private final CephFsMounts mounts;
  private final Path mountInfo;

  /**
   * @param volumes find their data
   * @param mounters mount them
   * @param publications show them
   * @param probes ask their file systems
   * @param folder for mounts that nobody else is to see, and what is staged where, on this machine;
   *     it is made when it is needed
   * @param mountInfo where ceph-csi keeps what it mounts by ceph-fuse anew, and with which secrets;
   *     it need not be there
   */
  public CephFsNode(
      CephFsVolumes volumes,
      CephFsMounters mounters,
      Publications publications,
      LivenessProbes probes,
      Path folder,
      Path mountInfo) {
    this.volumes = volumes;
    this.mounters = mounters;
    this.publications = publications;
    this.probes = probes;
    this.parents = new PrivateMounts(folder.resolve("parents"), mounters);
    this.stagings = new StagingRecords(folder.resolve("stagings"));
    this.mounts = new CephFsMounts(mounters, stagings, probes);
    this.mountInfo = mountInfo;
  }

  @Override
  public void stage(StageRequest request, Operation operation) {
    UnfinishedStaging.attempt(() -> stageOrFail(request, operation), () -> isLeft(request));
  }

  /** Whether there is a mount of the volume, or of the directory above its snapshot. */
  private boolean isLeft(StageRequest request) {
    Path path = request.stagingPath();
    MountTable table = MountTable.read();
    return mayHave(request.volumeId(), path)
        && !stagings.isOfAnother(request.volumeId(), path)
        && (table.at(parents.of(path)).isPresent()
            || table.at(path).filter(mounts::isOfKind).isPresent());
  }

  private void stageOrFail(StageRequest request, Operation operation) {
    if (request.use().block()) {
      throw VolumeException.invalid("volume_capability: CephFS has no block volumes");
    }
    GroupOwnership.requireKnown(request.use());
    CephFsMounter mounter = mounters.choose(EncryptedStaging.mounter(request.context()));
    CephFsOptions.of(mounter).require(request.context());
    CephFsOptions.of(mounter).require(request.use());
    VolumeLocation location = location(request);
    if (location.snapshot().isPresent() && !request.use().readOnly()) {
      throw VolumeException.invalid(
          "volume_capability: volume " + request.volumeId() + " shows a snapshot and is only read");
    }
    publications.requireOutside(
        request.stagingPath(), "staging_target_path", Reason.INVALID_ARGUMENT, mounts);
    EncryptedStaging.askKms(location);
    boolean wasStaged = isStaged(request, location);
    if (wasStaged) {
      stagings.put(request.volumeId(), request.stagingPath()); // also ceph-csi's
    } else {
      requireNotElsewhere(request);
      MountPoint.requireNoneElse(request.stagingPath());
      operation.phase("mount");
      mount(request, location, mounter);
    }
    Runnable complete = () -> complete(request, location, mounter, operation);
    if (wasStaged) {
      UnfinishedStaging.keep(complete);
    } else {
      UnfinishedStaging.orUndo(complete, () -> undo(request));
    }
  }

  /** Makes what is mounted ready for its users; may be repeated. */
  private void complete(
      StageRequest request, VolumeLocation location, CephFsMounter mounter, Operation operation) {
    if (location.secret().isPresent()) {
      operation.phase("unlock the files");
      unlock(request, location, mounter);
    }
    operation.phase("give the files to the group");
    GroupOwnership.give(
        request.stagingPath(),
        EncryptedStaging.folder(request.context()),
        request.use(),
        operation);
  }

  private void unlock(StageRequest request, VolumeLocation location, CephFsMounter mounter) {
    new EncryptedStaging(volumes, parents)
        .unlock(
            request,
            location,
            mounter,
            what(request, location, mounter),
            work -> {
              unmount(request.stagingPath());
              work.run();
              mount(request, location, mounter);
            });
  }

  private void undo(StageRequest request) {
    unmount(request.stagingPath());
    stagings.remove(request.volumeId(), request.stagingPath());
  }

  /** A volume that no mount tells from another of the same directory is told by its record. */
  private Optional<Path> elsewhere(String volumeId, Path stagingPath) {
    return stagings
        .find(volumeId)
        .filter(path -> !path.equals(stagingPath))
        .filter(path -> MountTable.read().at(path).filter(mounts::isOfKind).isPresent());
  }

  private void requireNotElsewhere(StageRequest request) {
    elsewhere(request.volumeId(), request.stagingPath())
        .ifPresent(
            path -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "volume " + request.volumeId() + " is staged at " + path + ": unstage it there");
            });
  }

  private VolumeLocation location(StageRequest request) {
    if (request.staticVolume().isPresent()) {
      return volumes.locate(request.staticVolume().get(), request.credentials());
    }
    VolumeId id =
        VolumeId.parse(request.volumeId())
            .orElseThrow(
                () ->
                    VolumeException.notFound(
                        "volume "
                            + request.volumeId()
                            + " does not exist: not an id of ours, nor staticVolume"));
    return volumes.locate(id, request.context(), request.credentials());
  }

  private static Optional<String> given(Map<String, String> context, String key) {
    return Optional.ofNullable(context.get(key)).filter(value -> !value.isBlank());
  }

  /** Whether it is ready already; dead mounts are taken out of the way. */
  private boolean isStaged(StageRequest request, VolumeLocation location) {
    Path staging = request.stagingPath();
    for (int i = 0; i < DEAD_MOUNTS; i++) {
      Optional<Mount> there = MountTable.read().at(staging);
      if (there.isEmpty()) {
        return false;
      }
      requireStaging(request.volumeId(), staging);
      CephFsMounter made =
          mounters.of(there.get()).orElseThrow(() -> Publications.foreign(there.get()));
      if (!mounts.isDead(there.get())) {
        requireSame(request, location, there.get(), made);
        return true;
      }
      Mounts.forgetDead(staging);
    }
    throw new VolumeException(
        Reason.FAILED_PRECONDITION, staging + " has too many dead mounts over each other");
  }

  /**
   * Requires that nothing is mounted at a path but what was staged there: that is written down, or,
   * for one of ceph-csi or an older version, kubelet made the path for it.
   */
  private void requireStaging(String volumeId, Path path) {
    Publications.requireOfKind(path, mount -> mounts.isOfKind(mount) && mayHave(volumeId, path));
  }

  private boolean mayHave(String volumeId, Path path) {
    return KubeletPaths.isStaging(path) || stagings.find(volumeId).filter(path::equals).isPresent();
  }

  private static void requireSame(
      StageRequest request, VolumeLocation location, Mount mount, CephFsMounter mounter) {
    String shown = "/" + location.snapshot().orElse("");
    if (!mount.root().equals(shown)
        || !mounter.shows(mount, location.fileSystem(), location.root())) {
      throw Publications.foreign(mount);
    }
    if (mount.isReadOnly() != request.use().readOnly()) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          request.stagingPath()
              + " has the volume already, "
              + (mount.isReadOnly() ? "for reading only" : "for writing, too"));
    }
  }

  private static CephFsMounter.Request what(
      StageRequest request, VolumeLocation location, CephFsMounter mounter) {
    return new CephFsMounter.Request(
        location.cluster(),
        request.credentials(),
        location.fileSystem(),
        location.root(),
        request.use().readOnly(),
        CephFsOptions.of(mounter).all(request, location.cluster()));
  }

  private void mount(StageRequest request, VolumeLocation location, CephFsMounter mounter) {
    CephFsMounter.Request what = what(request, location, mounter);
    stagings.put(request.volumeId(), request.stagingPath()); // without it nobody unmounts
    try {
      if (location.snapshot().isPresent()) {
        parents.show(mounter, what, location.snapshot().get(), request.stagingPath());
      } else {
        MountPoint.make(request.stagingPath(), true);
        mounter.mount(what, request.stagingPath());
      }
    } catch (RuntimeException e) {
      if (MountTable.read().at(request.stagingPath()).isPresent()) {
        throw UnfinishedStaging.error(e);
      }
      stagings.remove(request.volumeId(), request.stagingPath());
      throw e;
    }
  }

  @Override
  public void unstage(String volumeId, Path stagingPath) {
    publications.requireOutside(
        stagingPath, "staging_target_path", Reason.FAILED_PRECONDITION, mounts);
    if (stagings.isOfAnother(volumeId, stagingPath)) {
      LOG.warn(
          "volume {} is not staged at {}: another volume is; nothing is done",
          volumeId,
          stagingPath);
      return;
    }
    requireStaging(volumeId, stagingPath);
    unmount(stagingPath);
    if (mayHave(volumeId, stagingPath) && elsewhere(volumeId, stagingPath).isEmpty()) {
      removeMountInfo("nodestage-" + volumeId + ".json");
    }
    stagings.remove(volumeId, stagingPath); // last: a call that died before is repeated
  }

  private void removeMountInfo(String name) {
    try {
      for (Path file : Sysfs.in(mountInfo, "nodestage-*.json")) {
        if (String.valueOf(file.getFileName()).equals(name)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void unmount(Path stagingPath) {
    parents.clear(stagingPath);
    Optional<Mount> there = MountTable.read().at(stagingPath);
    if (there.isEmpty()) {
      awaitEnd(stagingPath);
      return;
    }
    Mount mount = there.get();
    CephFsMounter mounter = mounters.of(mount).orElseThrow(() -> Publications.foreign(mount));
    if (mounts.isDead(mount)) {
      Mounts.forgetDead(stagingPath);
    }
    Mounts.unmountAll(stagingPath);
    if (MountTable.read().ofDevice(mount.device()).isEmpty()) {
      mounter.awaitEnd(mount.root().equals("/") ? stagingPath : parents.of(stagingPath));
    }
  }

  /** A call before this one may have taken the mount away and died, or not have waited enough. */
  private void awaitEnd(Path stagingPath) {
    Mounts.awaitUnmounted(stagingPath);
    for (CephFsMounter mounter : mounters.all()) {
      mounter.awaitEnd(stagingPath);
      mounter.awaitEnd(parents.of(stagingPath));
    }
  }

  @Override
  public void publish(PublishRequest request, Operation operation) {
    Mount staged =
        MountTable.read()
            .at(request.stagingPath())
            .filter(mount -> mounters.of(mount).isPresent())
            .orElseThrow(() -> notStaged(request, "is not staged at " + request.stagingPath()));
    if (stagings.isOfAnother(request.volumeId(), request.stagingPath())) {
      throw notStaged(request, "is not staged at " + request.stagingPath() + ": another volume is");
    }
    if (mounts.isDead(staged)) {
      throw notStaged(request, "has a dead mount; stage it again");
    }
    if (isShallow(request.context()) && !staged.root().startsWith(CephFsRoom.SNAPSHOTS)) {
      throw notStaged(request, "shows a snapshot, but its staging path does not");
    }
    EncryptedStaging.requireUnlocked(request.volumeId(), request.context(), request.stagingPath());
    publications.publish(
        request.stagingPath(),
        EncryptedStaging.folder(request.context()),
        request,
        mounts,
        operation);
  }

  /** Our answer to CreateVolume ends so for a shallow volume, whose parent must not be seen. */
  private static boolean isShallow(Map<String, String> context) {
    return context.getOrDefault("subvolumePath", "").endsWith("/")
        || given(context, "backingSnapshotID").isPresent();
  }

  private static VolumeException notStaged(PublishRequest request, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, "volume " + request.volumeId() + " " + why);
  }

  @Override
  public void unpublish(String volumeId, Path target) {
    publications.unpublish(volumeId, target, mounts);
  }

  @Override
  public long expand(
      String id,
      Path volumePath,
      Optional<Path> stagingPath,
      long required,
      ClusterUsers users,
      Operation operation) {
    return new CephFsRoom(mounts, stagings, probes).size(id, volumePath);
  }

  @Override
  public VolumeStats stats(String id, Path volumePath, ClusterUsers users) {
    return new CephFsRoom(mounts, stagings, probes).stats(id, volumePath);
  }
}
