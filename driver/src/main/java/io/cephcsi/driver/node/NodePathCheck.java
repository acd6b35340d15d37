package io.cephcsi.driver.node;

import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The one check of the paths in the node's calls: symbolic links above a path are resolved once,
 * and only what comes out is used behind; a link itself is refused, and so is what the kernel
 * keeps. One call works on a path at a time. Safe for several threads.
 */
public final class NodePathCheck implements NodeVolumes {
  private static final List<Path> OF_THE_KERNEL =
      List.of(Path.of("/proc"), Path.of("/sys"), Path.of("/dev"));

  private final NodeVolumes volumes;
  private final Set<Path> busy = ConcurrentHashMap.newKeySet();

  /**
   * @param volumes do the work
   */
  public NodePathCheck(NodeVolumes volumes) {
    this.volumes = volumes;
  }

  @Override
  public void stage(StageRequest request, Operation operation) {
    Path staging = checked(request.stagingPath(), "staging_target_path", Reason.INVALID_ARGUMENT);
    alone(staging, () -> volumes.stage(request.at(staging), operation));
  }

  @Override
  public void unstage(String volumeId, Path stagingPath) {
    Path staging = checked(stagingPath, "staging_target_path", Reason.FAILED_PRECONDITION);
    alone(staging, () -> volumes.unstage(volumeId, staging));
  }

  @Override
  public void publish(PublishRequest request, Operation operation) {
    Path staging = checked(request.stagingPath(), "staging_target_path", Reason.INVALID_ARGUMENT);
    Path target = checked(request.target(), "target_path", Reason.INVALID_ARGUMENT);
    if (target.startsWith(staging) || staging.startsWith(target)) {
      throw VolumeException.invalid(
          "target_path "
              + target
              + " and staging_target_path "
              + staging
              + " overlap: one lies within the other");
    }
    alone(target, () -> volumes.publish(request.at(staging, target), operation));
  }

  @Override
  public void unpublish(String volumeId, Path target) {
    Path checked = checked(target, "target_path", Reason.FAILED_PRECONDITION);
    alone(checked, () -> volumes.unpublish(volumeId, checked));
  }

  @Override
  public long expand(
      String volumeId,
      Path volumePath,
      Optional<Path> stagingPath,
      long required,
      ClusterUsers users,
      Operation operation) {
    return volumes.expand(
        volumeId,
        resolved(volumePath, "volume_path"),
        stagingPath.map(path -> resolved(path, "staging_target_path")),
        required,
        users,
        operation);
  }

  @Override
  public VolumeStats stats(String volumeId, Path volumePath, ClusterUsers users) {
    return volumes.stats(volumeId, resolved(volumePath, "volume_path"), users);
  }

  private void alone(Path path, Runnable work) {
    if (!busy.add(path)) {
      throw new VolumeException(
          Reason.ABORTED, "another call works on " + path + "; try again later");
    }
    try {
      work.run();
    } finally {
      busy.remove(path);
    }
  }

  /** A path for a mount. What is mounted is not touched: it may hang. */
  private static Path checked(Path given, String field, Reason refusal) {
    requireNotOfTheKernel(given, field); // links of /proc lead anywhere
    Path path = resolved(given, field);
    requireNotOfTheKernel(path, field);
    if (MountTable.read().at(path).isEmpty() && Files.isSymbolicLink(path)) {
      throw new VolumeException(refusal, field + " " + path + " is a symbolic link");
    }
    return path;
  }

  private static void requireNotOfTheKernel(Path path, String field) {
    if (OF_THE_KERNEL.stream().anyMatch(path::startsWith)) {
      throw VolumeException.invalid(field + " " + path + " lies in a file system of the kernel");
    }
  }

  /**
   * A path without links above its last name.
   *
   * @throws VolumeException FAILED_PRECONDITION when what is above it cannot be looked at
   */
  public static Path resolved(Path given, String field) {
    Path path = given.toAbsolutePath().normalize();
    for (Path above = path.getParent(); above != null; above = above.getParent()) {
      try {
        return above.toRealPath().resolve(above.relativize(path));
      } catch (NoSuchFileException e) {
        // it will be made
      } catch (IOException e) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION, field + " " + path + " cannot be used: " + e, e);
      }
    }
    throw VolumeException.invalid(field + " must not be " + path);
  }
}
