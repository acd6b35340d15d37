package io.cephcsi.driver.testing;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * A real file system in a file: made by mkfs, filled and emptied by a loop mount, then copied into
 * an image, and read back to be checked. Needs root.
 */
public final class FileSystemImage {
  private final Path file;
  private final String type;

  private FileSystemImage(Path file, String type) {
    this.file = file;
    this.type = type;
  }

  /**
   * Makes an empty file system.
   *
   * @param type ext4 or xfs
   * @param options further ones for mkfs
   */
  public static FileSystemImage make(Path folder, String type, long bytes, String... options) {
    try {
      Path file = Files.createTempFile(folder, type, ".img");
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.wrap(new byte[1]), bytes - 1);
      }
      List<String> command = new ArrayList<>(List.of("mkfs." + type, "-q"));
      command.addAll(List.of(options));
      command.add(file.toString());
      Commands.run(command);
      return new FileSystemImage(file, type);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The file. */
  public Path file() {
    return file;
  }

  /** Runs a shell script in the mounted file system, which is unmounted cleanly afterwards. */
  public String mounted(String script) {
    return mounted("loop", script);
  }

  private String mounted(String options, String script) {
    return shell(
        """
        set -e
        m=$(mktemp -d)
        mount -o %s '%s' $m
        trap 'cd /; umount $m; rmdir $m' EXIT
        cd $m
        %s
        """
            .formatted(options, file, script));
  }

  private static String shell(String script) {
    return Commands.run(List.of("bash", "-c", script));
  }

  /**
   * Writes about two thirds of the bytes, then deletes about two thirds of the files: what they
   * held stays in the image.
   */
  public void fillAndEmpty(long bytes) {
    mounted(
        """
        n=$((%d / 3000000))
        for i in $(seq 1 $n); do
          mkdir -p d$((i / 30))
          head -c $((1000000 + i * 7919 %% 1000000)) /dev/urandom > d$((i / 30))/f$i
        done
        sync -f .
        for i in $(seq 1 $n); do [ $((i / 10 %% 3)) = 0 ] || rm d$((i / 30))/f$i; done
        """
            .formatted(bytes));
  }

  /** A checksum of every file, read through the kernel without writing. */
  public String checksums() {
    return mounted(
        "loop,ro" + (type.equals("xfs") ? ",norecovery" : ",noload"),
        "find . -type f -print0 | sort -z | xargs -0 -r sha256sum");
  }

  /** What fsck finds wrong; it is an error if that is anything. */
  public void check() {
    Commands.run(
        type.equals("xfs")
            ? List.of("xfs_repair", "-n", "-f", file.toString())
            : List.of("e2fsck", "-fn", file.toString()));
  }

  /** Copies what is not zero into an image. */
  public void writeTo(RbdImage image) {
    FileCopy.toImage(file, image);
  }

  /** Replaces the file by what an image holds. */
  public void readFrom(RbdImage image) {
    FileCopy.fromImage(image, file);
  }

  /** How many bytes its own tool finds free. */
  public long freeBytes() {
    String script =
        type.equals("xfs")
            ? """
              p() { xfs_db -r -c "$1" -c "p $2" '%1$s' | awk '{print $3}'; }
              for ((i = $(p 'sb 0' agcount) - 1; i >= 0; i--)); do p "agf $i" freeblks; done |
                awk -v size=$(p 'sb 0' blocksize) '{s += $1} END {printf "%%.0f", s * size}'
              """
            : """
              dumpe2fs -h '%1$s' 2>/dev/null |
                awk '/^Free blocks:/ {f = $3} /^Block size:/ {s = $3} END {printf "%%.0f", f * s}'
              """;
    return Long.parseLong(shell(script.formatted(file)).strip());
  }

  /** Lets the kernel trim it while it is mounted: the file gets holes. */
  public void onlineTrim() {
    mounted("fstrim .");
  }
}
