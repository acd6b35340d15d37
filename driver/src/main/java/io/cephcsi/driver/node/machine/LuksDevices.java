package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The decrypted devices of encrypted volumes, as the device mapper has them, asked through sysfs.
 * ceph-csi names them in the same way.
 */
public final class LuksDevices {
  private static final Path BLOCK_DEVICES = Path.of("/sys/block");
  private static final String PREFIX = "luks-rbd-";

  /** The device mapper's library writes other characters otherwise; its names have 127 bytes. */
  private static final Pattern NAMEABLE = Pattern.compile("[A-Za-z0-9#+.:=@_-]{1,118}");

  private LuksDevices() {}

  /** What the device mapper calls that of a volume. */
  public static String nameOf(String volumeId) {
    return PREFIX + volumeId;
  }

  /**
   * Requires that the device mapper can call one after a volume.
   *
   * @throws VolumeException INVALID_ARGUMENT if it cannot
   */
  public static void requireNameable(String volumeId) {
    if (!NAMEABLE.matcher(volumeId).matches()) {
      throw VolumeException.invalid(
          "volume_id: the decrypted device is named after it, which takes letters, digits and"
              + " #+-.:=@_, at most 118");
    }
  }

  /** That of a volume, such as /dev/dm-0; empty when there is none. */
  public static Optional<Path> find(String volumeId) {
    String name = nameOf(volumeId);
    return Sysfs.in(BLOCK_DEVICES, "dm-*").stream()
        .filter(each -> Sysfs.text(each.resolve("dm/name")).filter(name::equals).isPresent())
        .map(each -> Path.of("/dev").resolve(each.getFileName()))
        .findFirst();
  }

  /** The device of the image that one lies on; empty when it is none, or lies on several. */
  public static Optional<Path> below(Path device) {
    return BlockDevice.at(device)
        .map(found -> Path.of("/sys/dev/block", found.number()))
        .filter(
            sysfs ->
                Sysfs.text(sysfs.resolve("dm/name"))
                    .filter(name -> name.startsWith(PREFIX))
                    .isPresent())
        .map(sysfs -> Sysfs.in(sysfs.resolve("slaves"), "*"))
        .filter(slaves -> slaves.size() == 1)
        .map(List::iterator)
        .map(slaves -> Path.of("/dev").resolve(slaves.next().getFileName()));
  }
}
