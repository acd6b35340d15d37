package io.cephcsi.driver.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Shows staged volumes to workloads by bind mounts. A target appears with all its options at once:
 * one that is read-only is never writable, whatever dies in between. Safe for several threads.
 */
public final class Publications {
  /** Options of one mount; others are of the file system, and were given when it was mounted. */
  private static final Set<String> OF_ONE_MOUNT =
      Set.of("noatime", "nodev", "nodiratime", "noexec", "nosuid", "relatime", "ro");

  private final Path folder;

  /**
   * @param folder where mounts are made ready, on this machine; it is made when it is needed
   */
  public Publications(Path folder) {
    this.folder = folder.toAbsolutePath().normalize();
  }

  /**
   * Binds a source to the request's target, or finds it bound.
   *
   * @param source a mounted folder, or a block device bound to a file
   * @param owner knows what is ours
   * @throws VolumeException ALREADY_EXISTS when the target shows the volume in another way or
   *     something else; FAILED_PRECONDITION when the volume may have one target only and has
   *     another, or is not staged, or not for such a use, or the target has content;
   *     INVALID_ARGUMENT when the target is where a volume is staged, or in a volume
   */
  void publish(Path source, PublishRequest request, MountOwner owner) {
    MountTable table = MountTable.read();
    requireOutside(request.target(), table, owner);
    Mount staged =
        table
            .at(source)
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.FAILED_PRECONDITION,
                        "volume " + request.volumeId() + " is not staged at " + source));
    List<String> options = options(request);
    Optional<Mount> there = table.at(request.target());
    requireStagedSo(request, staged, there.filter(mount -> staged.shows(mount)).isPresent());
    if (there.isPresent() && staged.shows(there.get())) {
      if (there.get().options().contains("ro") != (options.contains("ro") || ro(staged))) {
        throw new VolumeException(
            Reason.ALREADY_EXISTS,
            request.target()
                + " shows the volume already, "
                + (there.get().options().contains("ro") ? "for reading only" : "for writing, too"));
      }
      return;
    }
    if (there.isPresent() && !owner.isDead(there.get())) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          request.target() + " shows something else already: " + there.get().source());
    }
    if (there.isPresent()) {
      Mounts.forgetDead(request.target()); // of an earlier staging, whose device has died
    }
    requireAlone(request, table, staged, source);
    MountPoint.make(request.target(), !request.use().block());
    bind(source, request.target(), options);
  }

  private static void requireOutside(Path target, MountTable table, MountOwner owner) {
    if (owner.isStaging(target)) {
      throw VolumeException.invalid("target_path " + target + " is where a volume is staged");
    }
    for (Path above = target.getParent(); above != null; above = above.getParent()) {
      if (table.at(above).filter(owner::isOurs).isPresent()) {
        throw VolumeException.invalid("target_path " + target + " lies in the volume at " + above);
      }
    }
  }

  private static void requireStagedSo(PublishRequest request, Mount staged, boolean shown) {
    VolumeUse use = request.use();
    String how;
    if (staged.isDevice() != use.block()) {
      how = staged.isDevice() ? "as a block device" : "with a file system";
    } else if (FileSystemSetup.isKnown(staged.fsType())
        && !use.fsType().isEmpty()
        && !use.fsType().equals(staged.fsType())) {
      how = "with " + staged.fsType();
    } else if (refusesWrites(staged) && !request.refusesWrites()) {
      how = "for reading only";
    } else {
      return;
    }
    throw new VolumeException(
        shown ? Reason.ALREADY_EXISTS : Reason.FAILED_PRECONDITION,
        "volume "
            + request.volumeId()
            + " is staged "
            + how
            + ": volume_capability says otherwise");
  }

  private static boolean refusesWrites(Mount staged) {
    return staged.isDevice()
        ? BlockDevice.at(staged.target()).filter(BlockDevice::isReadOnly).isPresent()
        : ro(staged);
  }

  private static boolean ro(Mount staged) {
    return staged.options().contains("ro");
  }

  private static List<String> options(PublishRequest request) {
    List<String> options =
        new ArrayList<>(
            request.use().mountFlags().stream().filter(OF_ONE_MOUNT::contains).toList());
    if (request.refusesWrites() && !options.contains("ro")) {
      options.add("ro");
    }
    // For a device's node the kernel does not heed the option; here it tells what was wanted.
    return request.use().block() ? options.stream().filter("ro"::equals).toList() : options;
  }

  private static void requireAlone(
      PublishRequest request, MountTable table, Mount staged, Path source) {
    if (!request.use().singleTarget()) {
      return;
    }
    Path target = request.target().toAbsolutePath().normalize();
    table.all().stream()
        .filter(mount -> staged.shows(mount))
        .map(Mount::target)
        .filter(path -> !path.equals(source.toAbsolutePath().normalize()) && !path.equals(target))
        .findFirst()
        .ifPresent(
            other -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "volume "
                      + request.volumeId()
                      + " may be published once only and is published at "
                      + other);
            });
  }

  /** A bind of a bind has the options of the first: so they are there from the start. */
  private void bind(Path source, Path target, List<String> options) {
    if (options.isEmpty()) {
      Mounts.bind(source, target);
      return;
    }
    Path ready = ready(target);
    Mounts.unmountAll(ready); // of a call that died
    MountPoint.make(ready, Files.isDirectory(source));
    try {
      Mounts.bind(source, ready);
      Mounts.rebind(ready, options);
      Mounts.bind(ready, target);
    } finally {
      Mounts.unmountAll(ready);
      MountPoint.remove(ready);
    }
  }

  private Path ready(Path target) {
    byte[] name = target.toAbsolutePath().normalize().toString().getBytes(UTF_8);
    return folder.resolve(UUID.nameUUIDFromBytes(name).toString());
  }

  /**
   * Takes a target away; nothing to do where there is none.
   *
   * @throws VolumeException FAILED_PRECONDITION when something is there that is not ours: then
   *     nothing is unmounted or removed
   */
  void unpublish(Path target, MountOwner owner) {
    requireOurs(target, owner);
    if (owner.isStaging(target)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, target + " is where a volume is staged: unstage it");
    }
    Path ready = ready(target);
    Mounts.unmountAll(ready);
    MountPoint.remove(ready);
    Mounts.unmountAll(target);
    MountPoint.remove(target);
  }

  /**
   * Requires that nothing is mounted at a path but volumes.
   *
   * @throws VolumeException FAILED_PRECONDITION when something else is
   */
  static void requireOurs(Path path, MountOwner owner) {
    MountTable.read().allAt(path).stream()
        .filter(mount -> !owner.isOurs(mount))
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  path + " has something else mounted, which stays: " + mount.source());
            });
  }
}
