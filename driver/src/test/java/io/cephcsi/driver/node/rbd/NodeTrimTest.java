package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an image says of its file system drives no loop before it was looked at. */
class NodeTrimTest {
  private static final long MIB = 1L << 20;

  @TempDir private Path folder;

  private static Mount mount(String fsType) {
    return new Mount(1, "7:0", "/", Path.of("/mnt"), Set.of(), fsType, "/dev/loop0", Set.of());
  }

  /** The start of an XFS, with two of its superblock's fields: sb_blocksize and sb_agblocks. */
  private Path xfs(int blockSize, int groupBlocks) throws IOException {
    ByteBuffer start = ByteBuffer.allocate(8192);
    start.putInt(4, blockSize).putInt(84, groupBlocks);
    return Files.write(folder.resolve("device"), start.array());
  }

  @Test
  void aSliceOfXfsIsAnAllocationGroup() throws IOException {
    assertThat(new NodeTrim(0).sliceOf(mount("xfs"), xfs(4096, 4096), 512 * MIB))
        .isEqualTo(16 * MIB);
  }

  @ParameterizedTest
  @CsvSource({"4096, 0", "0, 4096", "-2147483648, 4096", "4096, -1", "4096, 4095", "512, 1"})
  void sizesThatNoXfsHasAreRefused(int blockSize, int groupBlocks) throws IOException {
    Path device = xfs(blockSize, groupBlocks);
    NodeTrim trim = new NodeTrim(0);
    assertThatThrownBy(() -> trim.sliceOf(mount("xfs"), device, 512 * MIB))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @Test
  void otherFileSystemsAreTrimmedInSlicesOfOneSize() {
    Path none = folder.resolve("none");
    assertThat(new NodeTrim(0).sliceOf(mount("ext4"), none, 512 * MIB)).isEqualTo(1024 * MIB);
    assertThat(new NodeTrim(MIB).sliceOf(mount("ext4"), none, 512 * MIB)).isEqualTo(128 * MIB);
  }
}
