package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What a block device holds, by blkid(8), which knows some hundred kinds of content. */
public final class DeviceContent {
  private static final int NOTHING = 2;
  private static final int SUPERBLOCKS = 4096;

  private DeviceContent() {}

  /**
   * The kind of content, such as {@code ext4}; empty when no kind is recognised, which does not
   * mean that the device is blank.
   *
   * @throws VolumeException FAILED_PRECONDITION when there are signs of several
   */
  public static String of(Path device) {
    start(device); // blkid takes a device that cannot be read for one without content
    Command.Result result =
        Command.of("blkid", "--probe", "--output", "export").with(Argument.path(device)).tryRun();
    if (result.exitCode() == NOTHING && result.output().isBlank()) {
      return "";
    }
    if (result.exitCode() != 0) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "what the volume holds is not clear: blkid ended with exit code "
              + result.exitCode()
              + ": "
              + result.said());
    }
    String kind = value(result.output(), "TYPE");
    String partitions = value(result.output(), "PTTYPE");
    if (kind.isEmpty() && !partitions.isEmpty()) {
      return "a partition table (" + partitions + ")";
    }
    return kind.isEmpty() ? "something unknown" : kind;
  }

  private static String value(String output, String key) {
    return output
        .lines()
        .filter(line -> line.startsWith(key + "="))
        .map(line -> line.substring(key.length() + 1))
        .findFirst()
        .orElse("");
  }

  /** Whether mkfs.xfs died before its last write. */
  public static boolean isUnfinishedXfs(Path device) {
    return start(device).get(126) != 0; // sb_inprogress
  }

  /** The size of an allocation group of XFS, in bytes. */
  public static long xfsGroupBytes(Path device) {
    ByteBuffer start = start(device).order(ByteOrder.BIG_ENDIAN);
    return (start.getInt(84) & 0xffffffffL) * start.getInt(4);
  }

  /** Whether an ext4 file system was ever mounted for writing: then it may hold data. */
  public static boolean wasMountedExt(Path device) {
    ByteBuffer superblock = start(device).slice(1024, 1024).order(ByteOrder.LITTLE_ENDIAN);
    return superblock.getInt(44) != 0 || superblock.getShort(52) != 0; // s_mtime, s_mnt_count
  }

  /**
   * Whether the journal of an ext4 file system is on another device. Which one, the file system
   * says, and e2fsck and the kernel open and write that.
   */
  public static boolean hasJournalElsewhere(Path device) {
    ByteBuffer superblock = start(device).slice(1024, 1024).order(ByteOrder.LITTLE_ENDIAN);
    boolean journal = (superblock.getInt(92) & 0x4) != 0; // s_feature_compat: has_journal
    return journal && superblock.getInt(224) == 0; // s_journal_inum
  }

  /** The size of an ext4 file system, in bytes. */
  public static long extBytes(Path device) {
    ByteBuffer superblock = start(device).slice(1024, 1024).order(ByteOrder.LITTLE_ENDIAN);
    boolean wide = (superblock.getInt(96) & 0x80) != 0; // s_feature_incompat: 64bit
    long high = wide ? superblock.getInt(0x150) & 0xffffffffL : 0;
    long blocks = high << 32 | (superblock.getInt(4) & 0xffffffffL);
    return blocks << (10 + superblock.getInt(24));
  }

  private static ByteBuffer start(Path device) {
    ByteBuffer bytes = ByteBuffer.allocate(SUPERBLOCKS);
    try (FileChannel channel = FileChannel.open(device, StandardOpenOption.READ)) {
      while (bytes.hasRemaining()) {
        if (channel.read(bytes) < 0) {
          throw new IOException("it has only " + bytes.position() + " bytes");
        }
      }
      return bytes.flip();
    } catch (IOException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, device + " cannot be read: " + e.getMessage(), e);
    }
  }
}
