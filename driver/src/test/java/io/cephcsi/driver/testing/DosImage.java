package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A real FAT32 or NTFS in a file, filled, and emptied of a part. FAT is written by mtools, NTFS by
 * a FUSE mount, as not every kernel has them. Needs root.
 */
public final class DosImage {
  private static final String MOUNTED =
      """
      m=$(mktemp -d)
      ntfs-3g -o no_detach,%s '%s' $m >/dev/null 2>&1 &
      trap 'cd /; umount $m; wait; rmdir $m' EXIT
      for i in $(seq 500); do mountpoint -q $m && break; sleep 0.01; done
      mountpoint -q $m; cd $m
      %s
      """;

  private final Path file;
  private final boolean ntfs;

  private DosImage(Path file, boolean ntfs) {
    this.file = file;
    this.ntfs = ntfs;
  }

  /** A FAT32 of clusters of a sector. */
  public static DosImage fat(Path folder, long bytes) {
    DosImage made = empty(folder, bytes, false, "mkfs.fat -F 32 -s 1");
    made.shell(
        """
        export MTOOLS_SKIP_CHECK=1
        t=$(mktemp -d)
        for i in $(seq 1 %2$d); do head -c 1${i}000 /dev/urandom > $t/f$i; done
        head -c %3$d /dev/urandom > $t/large
        mcopy -i '%1$s' $t/* ::
        mdel -i '%1$s' ::large ::f3 ::f5 ::f7
        rm -r $t
        """
            .formatted(made.file, 20, bytes / 2));
    return made;
  }

  /** An NTFS. */
  public static DosImage ntfs(Path folder, long bytes) {
    DosImage made = empty(folder, bytes, true, "mkntfs -F -Q -q");
    made.shell(
        MOUNTED.formatted(
            "rw",
            made.file,
            "for i in $(seq 1 40); do head -c $(("
                + bytes / 80
                + " + i * 997)) /dev/urandom > f$i; done;"
                + " for i in $(seq 1 40); do [ $((i / 8 % 3)) = 0 ] || rm f$i; done"));
    return made;
  }

  private static DosImage empty(Path folder, long bytes, boolean ntfs, String mkfs) {
    try {
      DosImage image = new DosImage(Files.createTempFile(folder, "dos", ".img"), ntfs);
      image.shell(
          "truncate -s %1$d '%2$s'; %3$s '%2$s' >/dev/null".formatted(bytes, image.file, mkfs));
      return image;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String shell(String script) {
    return Commands.run(List.of("bash", "-euc", script)).strip();
  }

  /** The file. */
  public Path file() {
    return file;
  }

  /** A checksum of every file. */
  public String checksums() {
    return shell(
        ntfs
            ? MOUNTED.formatted("ro", file, "sha256sum *")
            : "export MTOOLS_SKIP_CHECK=1; for f in $(mdir -b -i '%1$s' ::); do mtype -i '%1$s' $f | sha256sum; done"
                .formatted(file));
  }

  /** Fails unless its check program finds nothing wrong. */
  public void check() {
    shell(
        (ntfs ? "ntfsresize -i -f '%s' >/dev/null" : "fsck.fat -n '%s' >/dev/null")
            .formatted(file));
  }

  /** How many bytes its own tool finds free. */
  public long freeBytes() {
    String script =
        ntfs
            ? """
              read -r size clusters < <(ntfsinfo -m '%1$s' |
                awk '/Cluster Size:/ {s = $3} /Size in Clusters:/ {c = $5} END {print s, c}')
              ntfscat -f -i 6 '%1$s' | python3 -c 'import sys
              bits = sys.stdin.buffer.read()
              used = sum(bits[i // 8] >> i %% 8 & 1 for i in range('$clusters'))
              print(('$clusters' - used) * '$size')'
              """
            : "minfo -i '%1$s' | awk -F= '/^free clusters/ {printf \"%%.0f\", $2 * 512}'";
    return Long.parseLong(shell(script.formatted(file)));
  }

  /** Makes holes of what its own tool finds free in an NTFS. */
  public void punchFree() {
    shell(
        """
        size=$(ntfsinfo -m '%1$s' | awk '/Cluster Size:/ {print $3}')
        clusters=$(ntfsinfo -m '%1$s' | awk '/Size in Clusters:/ {print $5}')
        ntfscat -f -i 6 '%1$s' | python3 -c 'import ctypes, itertools, os, sys
        bits, size, at = sys.stdin.buffer.read(), '$size', 0
        libc, fd = ctypes.CDLL(None, use_errno=True), os.open("%1$s", os.O_RDWR)
        libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        used = (bits[i // 8] >> i %% 8 & 1 for i in range('$clusters'))
        for bit, run in itertools.groupby(used):
            length = len(list(run)) * size
            if not bit and libc.fallocate(fd, 3, at, length):
                raise OSError(ctypes.get_errno(), "fallocate")
            at += length
        '
        """
            .formatted(file));
  }
}
