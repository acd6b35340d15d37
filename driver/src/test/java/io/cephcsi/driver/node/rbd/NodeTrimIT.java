package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Real file systems on loop devices. Needs root. */
@Timeout(120)
class NodeTrimIT {
  private static final int MOST_QUESTIONS = 1000;

  @TempDir private Path folder;

  /** One of 2^60 bytes would take a thousand million slices. */
  @ParameterizedTest
  @CsvSource({"ext4, 1536M", "xfs, -dsize=1536m"})
  void aTrimEndsWhereTheFileSystemEnds(String fsType, String size) throws IOException {
    Path memory = Files.createDirectory(folder.resolve("memory"));
    Path target = Files.createDirectory(folder.resolve("target")).toRealPath();
    Path image = memory.resolve("image");
    Commands.run(List.of("mount", "-t", "tmpfs", "tmpfs", memory.toString()));
    try {
      Commands.run(List.of("truncate", "-s", "1E", image.toString()));
      boolean xfs = fsType.equals("xfs");
      Commands.run(
          List.of(
              "mkfs." + fsType,
              xfs ? "-qK" : "-q",
              xfs ? size : "-Enodiscard",
              image.toString(),
              xfs ? "-f" : size));
      Commands.run(List.of("mount", "-o", "loop", image.toString(), target.toString()));
      try {
        NodeTrim.Outcome outcome = trim(MountTable.read().at(target).orElseThrow());
        assertThat(outcome.complete()).isTrue();
        assertThat(outcome.discarded()).isBetween(1L << 30, 1536L << 20);
      } finally {
        Commands.run(List.of("umount", target.toString()));
      }
    } finally {
      Commands.run(List.of("umount", "-l", memory.toString()));
    }
  }

  private static NodeTrim.Outcome trim(Mount mount) {
    AtomicInteger questions = new AtomicInteger();
    BlockDevice device = BlockDevice.require(Path.of(mount.source()));
    assertThat(device.size()).isEqualTo(1L << 60);
    return new OperationRegistry(Duration.ofMinutes(1))
        .start(
            "volume",
            "NodeReclaimSpace",
            Runnable::run,
            operation ->
                new NodeTrim(0)
                    .run(
                        mount,
                        device,
                        operation,
                        () -> questions.incrementAndGet() > MOST_QUESTIONS))
        .join();
  }
}
