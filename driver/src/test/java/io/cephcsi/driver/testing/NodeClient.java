package io.cephcsi.driver.testing;

import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceNodeGrpc;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeResponse;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Channel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * What a kubelet does on a node, in a folder of its own. Closing removes what is left below that
 * folder, and says what it was.
 */
public final class NodeClient implements AutoCloseable {
  private static final List<String> DAEMONS = List.of("qemu-storage-daemon", "ceph-fuse");
  private static final long DEADLINE_SECONDS = 180;

  private final Channel channel;
  private final Map<String, String> secrets;
  private final Path folder;

  /**
   * @param folder for staging and target paths, and for the driver's own
   */
  public NodeClient(Channel channel, Map<String, String> secrets, Path folder) {
    this.channel = channel;
    this.secrets = secrets;
    this.folder = folder;
  }

  /**
   * Which mounter volumes are made for: that of the system property {@code ceph.csi.mounter} where
   * this machine can do more than {@code fuse}.
   */
  public static String mounter() {
    return System.getProperty("ceph.csi.mounter", "fuse");
  }

  /** The folder for staging and target paths, and for the driver's own. */
  public Path folder() {
    return folder;
  }

  /** The CSI node. */
  public NodeGrpc.NodeBlockingStub stub() {
    return NodeGrpc.newBlockingStub(channel).withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS);
  }

  /** The use as a mounted file system. */
  public static VolumeCapability mounted(String fsType, Mode mode, String... flags) {
    return VolumeCapability.newBuilder()
        .setMount(
            VolumeCapability.MountVolume.newBuilder()
                .setFsType(fsType)
                .addAllMountFlags(List.of(flags)))
        .setAccessMode(VolumeCapability.AccessMode.newBuilder().setMode(mode))
        .build();
  }

  /** The use as a block device. */
  public static VolumeCapability block(Mode mode) {
    return VolumeCapability.newBuilder()
        .setBlock(VolumeCapability.BlockVolume.getDefaultInstance())
        .setAccessMode(VolumeCapability.AccessMode.newBuilder().setMode(mode))
        .build();
  }

  /** The staging path of a volume. */
  public Path staging(Volume volume) {
    return folder.resolve("staging").resolve(volume.getVolumeId());
  }

  /** A target path of a volume. */
  public Path target(Volume volume, String workload) {
    return folder.resolve("pods").resolve(workload).resolve(volume.getVolumeId());
  }

  /** A request to stage. */
  public NodeStageVolumeRequest.Builder stageRequest(Volume volume, VolumeCapability use) {
    return NodeStageVolumeRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .setStagingTargetPath(staging(volume).toString())
        .setVolumeCapability(use)
        .putAllVolumeContext(volume.getVolumeContextMap())
        .putVolumeContext("mounter", mounter())
        .putAllSecrets(secrets);
  }

  /** Stages a volume. */
  @SuppressWarnings("CheckReturnValue")
  public void stage(Volume volume, VolumeCapability use) {
    stub().nodeStageVolume(stageRequest(volume, use).build());
  }

  /** A request to publish. */
  public NodePublishVolumeRequest.Builder publishRequest(
      Volume volume, VolumeCapability use, String workload) {
    return NodePublishVolumeRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .setStagingTargetPath(staging(volume).toString())
        .setTargetPath(target(volume, workload).toString())
        .setVolumeCapability(use)
        .putAllVolumeContext(volume.getVolumeContextMap());
  }

  /** Publishes a staged volume to a workload. */
  @SuppressWarnings("CheckReturnValue")
  public Path publish(Volume volume, VolumeCapability use, String workload) {
    stub().nodePublishVolume(publishRequest(volume, use, workload).build());
    return target(volume, workload);
  }

  /** Undoes {@link #publish}. */
  @SuppressWarnings("CheckReturnValue")
  public void unpublish(Volume volume, String workload) {
    stub()
        .nodeUnpublishVolume(
            NodeUnpublishVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setTargetPath(target(volume, workload).toString())
                .build());
  }

  /** Undoes {@link #stage}. */
  @SuppressWarnings("CheckReturnValue")
  public void unstage(Volume volume) {
    stub()
        .nodeUnstageVolume(
            NodeUnstageVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setStagingTargetPath(staging(volume).toString())
                .build());
  }

  /** Unpublishes a volume from all workloads and unstages it, as far as that is possible. */
  public void remove(Volume volume) {
    try (DirectoryStream<Path> pods =
        Files.newDirectoryStream(Files.createDirectories(folder.resolve("pods")))) {
      for (Path pod : pods) {
        unpublish(volume, pod.getFileName().toString());
      }
      unstage(volume);
    } catch (StatusRuntimeException e) {
      System.err.println(volume.getVolumeId() + ": " + e.getMessage());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Asks how full a published volume is. */
  public NodeGetVolumeStatsResponse stats(Volume volume, String workload) {
    return stub()
        .nodeGetVolumeStats(
            NodeGetVolumeStatsRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setVolumePath(target(volume, workload).toString())
                .build());
  }

  /** Grows what is on a published volume. */
  public NodeExpandVolumeResponse expand(Volume volume, String workload) {
    return stub()
        .nodeExpandVolume(
            NodeExpandVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setVolumePath(target(volume, workload).toString())
                .setStagingTargetPath(staging(volume).toString())
                .putAllSecrets(secrets)
                .build());
  }

  /** A request to reclaim a staged volume. */
  public NodeReclaimSpaceRequest.Builder reclaimRequest(Volume volume) {
    return NodeReclaimSpaceRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .setStagingTargetPath(staging(volume).toString())
        .putAllSecrets(secrets);
  }

  /** Reclaims the space of a staged volume. */
  public NodeReclaimSpaceResponse reclaim(NodeReclaimSpaceRequest request) {
    return ReclaimSpaceNodeGrpc.newBlockingStub(channel)
        .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS)
        .nodeReclaimSpace(request);
  }

  /** Mounts, loop devices and processes that have to do with the folder. */
  public List<String> leftovers() {
    List<String> left = new ArrayList<>();
    mounts().forEach(mount -> left.add("mount " + mount.target()));
    loops().forEach(loop -> left.add("loop device " + loop));
    daemons().forEach(process -> left.add("process " + process.pid()));
    return left;
  }

  /** Files below the folder of a kind: of {@code staging}, {@code pods} or {@code node}. */
  public List<Path> files(String kind) {
    Path top = folder.resolve(kind);
    if (!Files.exists(top)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(top)) {
      return files.filter(file -> !Files.isDirectory(file)).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private List<Mount> mounts() {
    return MountTable.read().all().stream().filter(m -> m.target().startsWith(folder)).toList();
  }

  private List<String> loops() {
    List<String> loops = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/sys/block"), "loop*")) {
      for (Path loop : all) {
        if (backing(loop).startsWith(folder + "/")) {
          loops.add("/dev/" + loop.getFileName());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return loops;
  }

  /** Another process may free the device meanwhile. */
  private static String backing(Path loop) {
    try {
      return Files.readString(loop.resolve("loop/backing_file"));
    } catch (IOException e) {
      return "";
    }
  }

  /** The processes that serve devices and mounts. */
  public List<ProcessHandle> daemons() {
    return ProcessHandle.allProcesses().filter(this::isOurDaemon).toList();
  }

  private boolean isOurDaemon(ProcessHandle process) {
    try {
      String line = Files.readString(Path.of("/proc/" + process.pid() + "/cmdline"));
      String program = line.split("\0", -1)[0];
      return DAEMONS.stream().anyMatch(program::endsWith) && line.contains(folder + "/");
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  /** Removes what is left, however the test ended. */
  @Override
  public void close() {
    List<Mount> mounts = new ArrayList<>(mounts());
    Collections.reverse(mounts);
    for (Mount mount : mounts) {
      if (!mount.fsType().startsWith("fuse")) {
        attempt("umount", "-l", mount.target().toString());
      }
    }
    loops().forEach(loop -> attempt("losetup", "-d", loop));
    daemons().forEach(ProcessHandle::destroyForcibly);
    mounts().forEach(mount -> attempt("umount", "-l", mount.target().toString()));
  }

  private static void attempt(String... command) {
    try {
      new ProcessBuilder(command).inheritIO().start().waitFor(30, TimeUnit.SECONDS);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
