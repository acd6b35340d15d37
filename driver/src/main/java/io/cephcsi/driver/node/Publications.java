package io.cephcsi.driver.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;

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
   * @param dead whether what a mount shows was ours and is dead; must not hang
   * @throws VolumeException ALREADY_EXISTS when the target shows the volume in another way or
   *     something else; FAILED_PRECONDITION when the volume may have one target only and has
   *     another, or is not staged, or not for such a use
   */
  public void publish(Path source, PublishRequest request, Predicate<Mount> dead) {
    MountTable table = MountTable.read();
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
    requireStagedSo(request, staged, there.filter(mount -> isSame(staged, mount)).isPresent());
    if (there.isPresent() && isSame(staged, there.get())) {
      if (there.get().options().contains("ro") != (options.contains("ro") || ro(staged))) {
        throw new VolumeException(
            Reason.ALREADY_EXISTS,
            request.target()
                + " shows the volume already, "
                + (there.get().options().contains("ro") ? "for reading only" : "for writing, too"));
      }
      return;
    }
    if (there.isPresent() && !dead.test(there.get())) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          request.target() + " shows something else already: " + there.get().source());
    }
    if (there.isPresent()) {
      Mounts.forgetDead(request.target()); // of an earlier staging, whose device has died
    }
    requireAlone(request, table, staged, source);
    makeTarget(source, request.target());
    bind(source, request.target(), options);
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

  private static boolean isSame(Mount one, Mount other) {
    return one.device().equals(other.device()) && one.root().equals(other.root());
  }

  private static void requireAlone(
      PublishRequest request, MountTable table, Mount staged, Path source) {
    if (!request.use().singleTarget()) {
      return;
    }
    Path target = request.target().toAbsolutePath().normalize();
    table.all().stream()
        .filter(mount -> isSame(staged, mount))
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

  private static void makeTarget(Path source, Path target) {
    try {
      if (Files.isDirectory(source)) {
        Files.createDirectories(target);
      } else if (!Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
        Path parent = target.getParent();
        if (parent != null) {
          Files.createDirectories(parent);
        }
        Files.createFile(target);
      }
    } catch (IOException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "target_path " + target + " cannot be made: " + e, e);
    }
  }

  /** A bind of a bind has the options of the first: so they are there from the start. */
  private void bind(Path source, Path target, List<String> options) {
    if (options.isEmpty()) {
      Mounts.bind(source, target);
      return;
    }
    Path ready = ready(target);
    Mounts.unmountAll(ready); // of a call that died
    makeTarget(source, ready);
    try {
      Mounts.bind(source, ready);
      Mounts.rebind(ready, options);
      Mounts.bind(ready, target);
    } finally {
      Mounts.unmountAll(ready);
      remove(ready);
    }
  }

  private Path ready(Path target) {
    byte[] name = target.toAbsolutePath().normalize().toString().getBytes(UTF_8);
    return folder.resolve(UUID.nameUUIDFromBytes(name).toString());
  }

  /** Takes a target away; nothing to do where there is none. */
  public void unpublish(Path target) {
    Path ready = ready(target);
    Mounts.unmountAll(ready);
    remove(ready);
    Mounts.unmountAll(target);
    remove(target);
  }

  /** Never what has content: that would be somebody's data, not a mount point. */
  static void remove(Path mountPoint) {
    try {
      if (Files.isRegularFile(mountPoint, LinkOption.NOFOLLOW_LINKS)
          && Files.size(mountPoint) > 0) {
        throw new DirectoryNotEmptyException(mountPoint + " has content");
      }
      Files.deleteIfExists(mountPoint);
    } catch (DirectoryNotEmptyException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          mountPoint + " is no mount point and not empty: it is not removed",
          e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
