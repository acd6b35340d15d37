package io.cephcsi.driver.node.machine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Mounts and unmounts by mount(8) and umount(8): processes of their own, so that a file system that
 * hangs hangs them and not us. Safe for several threads.
 */
public final class Mounts {
  /**
   * What systemd knows by, from what mount(8) notes below /run/mount, that it must unmount before
   * it stops the network: otherwise what is not written yet hangs, and is lost, when a node is shut
   * down.
   */
  private static final String OVER_NETWORK = "_netdev";

  private static final String UMOUNT = "umount";
  private static final Duration DEADLINE = Duration.ofSeconds(60);
  private static final Duration STILL_UNMOUNTING = Duration.ofSeconds(30);

  private static final int BUSY_TRIES = 5;
  private static final long BUSY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** What mount(8) and umount(8) say for a path where nothing is mounted. */
  private static final int UMOUNT_FAILED = 32;

  private Mounts() {}

  /** The options of a mount, and that its data come over the network. */
  public static List<String> overNetwork(List<String> options) {
    List<String> all = new ArrayList<>(options);
    if (!all.contains(OVER_NETWORK)) {
      all.add(OVER_NETWORK);
    }
    return all;
  }

  /** Mounts a file system of a device whose data come over the network. */
  public static void mount(String fsType, String source, Path target, List<String> options) {
    Command.of("mount", "-t")
        .with(Argument.of("fs_type", fsType))
        .within(DEADLINE)
        .with("-o")
        .with(Argument.options("mount_flags", overNetwork(options)))
        .with("--")
        .with(Argument.of("the device", source), Argument.path(target))
        .run();
  }

  /** Shows a file, device or directory of a volume at another path, too. */
  public static void bind(Path source, Path target) {
    Command.of("mount", "--bind", "-o", OVER_NETWORK, "--")
        .with(Argument.path(source), Argument.path(target))
        .within(DEADLINE)
        .run();
  }

  /** Changes the options of one mount, not of its file system. */
  public static void rebind(Path target, List<String> options) {
    List<String> all = new ArrayList<>(List.of("remount", "bind"));
    all.addAll(options);
    Command.of("mount", "-o")
        .with(Argument.options("mount_flags", all))
        .with("--")
        .with(Argument.path(target))
        .within(DEADLINE)
        .run();
  }

  /** Takes away everything that is mounted at a path; nothing to do when nothing is. */
  public static void unmountAll(Path target) {
    while (MountTable.read().at(target).isPresent()) {
      Command.Result result = umount(target);
      if (result.exitCode() != 0 && MountTable.read().at(target).isPresent()) {
        throw new CommandException(
            "umount " + target + ": " + result.said(),
            result.exitCode() == 0 ? UMOUNT_FAILED : result.exitCode());
      }
    }
  }

  /**
   * Waits until an earlier umount(8) of a path has ended. It takes the mount out of sight before it
   * has written what the file system holds, and goes on doing so after it was killed.
   *
   * @throws CommandException if it does not end in time: the cluster may hang
   */
  public static void awaitUnmounted(Path target) {
    String path = target.toString();
    if (!Processes.awaitEnd(UMOUNT, words -> words.contains(path), STILL_UNMOUNTING)) {
      throw new CommandException(
          UMOUNT + " " + path + " still writes what is left: the cluster may be out of reach",
          CommandException.TIMED_OUT);
    }
  }

  /** A program that is just being started has what its parent has open, for a moment. */
  private static Command.Result umount(Path target) {
    for (int tries = 1; ; tries++) {
      Command.Result result =
          Command.of(UMOUNT, "--no-canonicalize", "--")
              .with(Argument.path(target))
              .within(DEADLINE)
              .tryRun();
      if (tries == BUSY_TRIES || !result.said().contains("target is busy")) {
        return result;
      }
      LockSupport.parkNanos(BUSY_NANOS);
    }
  }

  /**
   * Takes a dead mount out of sight at once, even while it is in use. Only for mounts whose server
   * is gone: what is not written there is lost anyway.
   */
  public static void forgetDead(Path target) {
    Command.of(UMOUNT, "--lazy", "--no-canonicalize", "--")
        .with(Argument.path(target))
        .within(DEADLINE)
        .tryRun();
    if (MountTable.read().at(target).isPresent()) {
      throw new CommandException(
          "the dead mount at " + target + " cannot be taken away", UMOUNT_FAILED);
    }
  }
}
