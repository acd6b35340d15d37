package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.LoopDevices;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What is left of a staging whose device has died. */
final class DeadStaging {
  private DeadStaging() {}

  /**
   * Removes it. A loop device whose file is lost, its attacher does not find by that: it goes, too.
   * A call that died may have unmounted it, then only what is written down tells it; that is of no
   * use any more when another volume has got the number since, as after a start of the machine.
   */
  static void remove(Path mountPath, Optional<StagedImage> known) {
    MountTable table = MountTable.read();
    MountTable others = table.without(mountPath);
    List<Path> lost =
        Stream.concat(
                table.at(mountPath).map(Mount::blockDevice).stream(),
                known
                    .map(staged -> Path.of(staged.device()))
                    .filter(device -> !isStagedAt(device, others))
                    .stream())
            .distinct()
            .filter(LoopDevices::isLost)
            .toList();
    lost.forEach(device -> LoopDevices.requireNotBound(device, others));
    try {
      Mounts.unmountAll(mountPath);
    } catch (CommandException e) {
      Mounts.forgetDead(mountPath);
    }
    // Meanwhile one may have gone by itself, and its number may be another one's.
    lost.stream().filter(LoopDevices::isLost).forEach(LoopDevices::forgetDead);
  }

  private static boolean isStagedAt(Path device, MountTable table) {
    return BlockDevice.usesOf(device, table).stream()
        .anyMatch(mount -> StagedImage.isBeside(mount.target()));
  }
}
