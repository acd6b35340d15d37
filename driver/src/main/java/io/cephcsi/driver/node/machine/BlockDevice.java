package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A block device, asked through sysfs: nothing here reads or writes the device itself.
 *
 * @param path its node, such as /dev/loop0, or a bind mount of it
 * @param number its major and minor number, such as {@code 7:0}
 */
public record BlockDevice(Path path, String number) {
  private static final int BLOCK = 0060000; // S_IFBLK
  private static final int TYPE = 0170000; // S_IFMT
  private static final int SECTOR = 512; // sysfs counts in these, whatever the device's are

  /** The device at a path; empty when there is none, or something else. */
  public static Optional<BlockDevice> at(Path path) {
    try {
      int mode = (Integer) Files.getAttribute(path, "unix:mode");
      if ((mode & TYPE) != BLOCK) {
        return Optional.empty();
      }
      long device = (Long) Files.getAttribute(path, "unix:rdev");
      long major = ((device >>> 8) & 0xfff) | ((device >>> 32) & ~0xfffL);
      long minor = (device & 0xff) | ((device >>> 12) & ~0xffL);
      return Optional.of(new BlockDevice(path, major + ":" + minor));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** The device at a path, which must be one. */
  public static BlockDevice require(Path path) {
    return at(path)
        .orElseThrow(
            () -> new VolumeException(Reason.UNAVAILABLE, path + " is no block device (any more)"));
  }

  /** Its size in bytes. */
  public long size() {
    return Long.parseLong(attribute("size")) * SECTOR;
  }

  /** Whether it can discard. */
  public boolean discards() {
    return Long.parseLong(attribute("queue/discard_max_bytes")) > 0;
  }

  /**
   * Waits until discards that are under way have ended: XFS starts them and does not wait. Nothing
   * tells them from reads and writes of others: the wait ends when no discard has ended for a
   * second in which others did, or for ten; and after a minute, as others may discard, too.
   *
   * @param stop ends the wait
   */
  public void awaitDiscards(BooleanSupplier stop) {
    new DiscardWait(() -> attribute("stat"), System::nanoTime).run(stop);
  }

  /** Whether it refuses writes. */
  public boolean isReadOnly() {
    return attribute("ro").equals("1");
  }

  /** What the kernel calls it, such as {@code loop0}. */
  public String name() {
    try {
      return String.valueOf(sysfs().toRealPath().getFileName());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Where it is mounted as a file system, or bound as a device; so, too, a device that lies on it,
   * such as a mapping of LUKS.
   */
  public List<Mount> uses(MountTable table) {
    Set<String> numbers = new HashSet<>(Set.of(number));
    Set<String> roots = new HashSet<>(Set.of("/" + name()));
    for (Path holder : holders()) {
      Sysfs.text(holder.resolve("dev")).ifPresent(numbers::add);
      roots.add("/" + holder.getFileName());
      Sysfs.text(holder.resolve("dm/name")).ifPresent(mapping -> roots.add("/mapper/" + mapping));
    }
    return table.all().stream()
        .filter(
            mount ->
                numbers.contains(mount.device())
                    || (mount.isDevice() && roots.contains(mount.root())))
        .toList();
  }

  /** As {@link #uses}, of a device that may be gone, and is used nowhere then. */
  public static List<Mount> usesOf(Path device, MountTable table) {
    return at(device).map(found -> found.uses(table)).orElse(List.of());
  }

  /** The devices that lie on it, and on those: their directories in sysfs. */
  private List<Path> holders() {
    List<Path> holders = new ArrayList<>(Sysfs.in(sysfs().resolve("holders"), "*"));
    for (int i = 0; i < holders.size(); i++) {
      holders.addAll(Sysfs.in(holders.get(i).resolve("holders"), "*"));
    }
    return holders;
  }

  /**
   * Requires that it is mounted nowhere, neither as a file system nor bound as a device, and that
   * no other device lies on it.
   *
   * @throws VolumeException FAILED_PRECONDITION naming a mount or device
   */
  public void requireUnused(MountTable table) {
    List<Mount> uses = uses(table);
    if (!uses.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, path + " is still in use at " + uses.get(0).target());
    }
    for (Path holder : holders()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          path
              + " is still in use by "
              + Sysfs.text(holder.resolve("dm/name")).orElse(holder.getFileName().toString()));
    }
  }

  /**
   * Requires that no device is still bound that had its name and is gone: through such a bind one
   * reads and writes this one.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the mount
   */
  public void requireNoBindOfEarlier(MountTable table) {
    String name = name();
    table.all().stream()
        .filter(mount -> mount.isGone(name))
        .findFirst()
        .ifPresent(
            mount -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "a device that had the name "
                      + path
                      + " before, and was taken away by others, is still at "
                      + mount.target()
                      + ": unpublish or unstage that volume first");
            });
  }

  private String attribute(String name) {
    try {
      return new String(Files.readAllBytes(sysfs().resolve(name)), UTF_8).strip();
    } catch (IOException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, path + " (" + number + ") is gone: " + e.getMessage(), e);
    }
  }

  private Path sysfs() {
    return Path.of("/sys/dev/block", number);
  }
}
