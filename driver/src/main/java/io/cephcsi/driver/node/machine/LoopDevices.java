package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Loop devices by losetup(8) and sysfs, which answers even where the file behind a device is dead.
 * Safe for several threads.
 */
public final class LoopDevices {
  private static final Path BLOCK_DEVICES = Path.of("/sys/block");
  private static final Duration RELEASE = Duration.ofSeconds(5);

  /** Names at the end of a path that tell a file: its own, and those of two folders. */
  private static final int NAMES = 3;

  private LoopDevices() {}

  /** Makes a new device of a file. */
  public static Path attach(Path file, boolean readOnly) {
    Command command = Command.of("losetup", "--find", "--show", "--direct-io=on");
    if (readOnly) {
      command = command.with("--read-only");
    }
    return Path.of(command.with("--").with(Argument.path(file)).run().strip());
  }

  /** The devices of a file, without those that go as soon as their last user does. */
  public static List<Path> of(Path file) {
    return of(file, "0");
  }

  /** The file behind a device; empty when there is none. */
  public static Optional<Path> fileOf(Path device) {
    String file =
        attribute(BLOCK_DEVICES.resolve(String.valueOf(device.getFileName())), "backing_file");
    return file.startsWith("/") ? Optional.of(Path.of(file)) : Optional.empty();
  }

  /**
   * The file FOLDER/NAME/FILE behind a device, also if the container that made the device has ended
   * and the kernel tells only the end of the path; empty when another file or none is behind it.
   */
  public static Optional<Path> fileOf(Path device, Path folder) {
    return fileOf(device)
        .filter(file -> file.getNameCount() >= NAMES)
        .map(file -> folder.resolve(file.subpath(file.getNameCount() - 2, file.getNameCount())))
        .filter(file -> isBehind(BLOCK_DEVICES.resolve(device.getFileName()), file));
  }

  /**
   * Whether a file is behind a device. The path that the kernel tells is that in the mounts of the
   * container that made the device. When the container has ended, it begins below the mount that
   * the file's folder was in; what is mounted at the file then tells whether it is the same one.
   */
  private static boolean isBehind(Path loop, Path file) {
    String told = attribute(loop, "backing_file");
    if (told.equals(file.toString())) {
      return true;
    }
    Path end = told.startsWith("/") ? Path.of(told.substring(1)) : Path.of(told);
    return end.getNameCount() >= NAMES
        && file.endsWith(end)
        && MountTable.read()
            .at(file)
            .map(Mount::device)
            .map(deviceBehind(loop)::equals)
            .orElse(true);
  }

  /** The number of the file system that the file behind a device is in. */
  private static String deviceBehind(Path loop) {
    return Command.of("losetup", "--list", "--noheadings", "--output", "BACK-MAJ:MIN")
        .with(Argument.path(Path.of("/dev").resolve(loop.getFileName())))
        .tryRun()
        .output()
        .strip();
  }

  /**
   * Whether the file behind a device is in no mount any more: the container that had made it has
   * ended, and with it the process that served the file.
   */
  public static boolean isLost(Path device) {
    return fileOf(device).filter(file -> file.getNameCount() == 0).isPresent();
  }

  /**
   * Waits for devices of a file that were taken away while something had them open, such as a
   * program that a killed driver left behind.
   *
   * @throws VolumeException ABORTED when one is still open
   */
  public static void awaitReleased(Path file) {
    if (!Polling.until(RELEASE, () -> of(file, "1").isEmpty())) {
      throw new VolumeException(
          Reason.ABORTED,
          of(file, "1") + " is still open in another process or container; try again later");
    }
  }

  private static List<Path> of(Path file, String autoclear) {
    List<Path> devices = new ArrayList<>();
    try (DirectoryStream<Path> loops = Files.newDirectoryStream(BLOCK_DEVICES, "loop*")) {
      for (Path loop : loops) {
        if (isBehind(loop, file) && attribute(loop, "autoclear").equals(autoclear)) {
          devices.add(Path.of("/dev").resolve(String.valueOf(loop.getFileName())));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return devices;
  }

  /**
   * Requires that a device is bound nowhere. Unlike a file system on it, that does not keep its
   * number: whoever got it next would be written to through the bind, and through what a container
   * made of it.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the mount
   */
  public static void requireNotBound(Path device, MountTable table) {
    BlockDevice.usesOf(device, table).stream()
        .filter(Mount::isDevice)
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  device
                      + " is not served any more and still published at "
                      + mount.target()
                      + ": unpublish the volume first");
            });
  }

  /**
   * Takes a dead device that is bound nowhere away, at the latest when its last user lets go of it;
   * nothing to do when it has gone.
   */
  public static void forgetDead(Path device) {
    try {
      Command.of("losetup", "--detach").with(Argument.path(device)).run();
    } catch (CommandException e) {
      if (fileOf(device).isPresent()) {
        throw e;
      }
    }
  }

  private static String attribute(Path loop, String name) {
    try {
      return new String(Files.readAllBytes(loop.resolve("loop").resolve(name)), UTF_8).strip();
    } catch (IOException e) {
      return ""; // no file is behind it, or not any more
    }
  }

  /**
   * Takes a device away, at the latest when its last user lets go of it: see {@link
   * #awaitReleased}.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is mounted
   */
  public static void detach(Path device, MountTable table) {
    BlockDevice.at(device).ifPresent(found -> found.requireUnused(table));
    Command.of("losetup", "--detach").with(Argument.path(device)).run();
  }

  /** Lets a device see the new size of its file. */
  public static void refreshSize(Path device) {
    Command.of("losetup", "--set-capacity").with(Argument.path(device)).run();
  }
}
