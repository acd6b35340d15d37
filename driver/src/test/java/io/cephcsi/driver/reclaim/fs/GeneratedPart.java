package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.ImageCase.Check;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A file system drawn at random, in a file beside the disk that it is put on.
 *
 * @param name what it is
 * @param file its file
 * @param free what its own tool says is free; for exFAT and swap areas, whose tools only count, as
 *     long as the reader lists as much
 * @param intact fails unless its check program finds nothing, and all files are as they were made
 */
record GeneratedPart(String name, Path file, List<FreeRange> free, Check intact) {
  private static final int MOST_MIB = 600;

  static void needsTools() {
    Shell.require("mkfs.ext4", "dumpe2fs", "debugfs", "e2fsck", "mkfs.xfs", "xfs_db", "xfs_repair");
    Shell.require("mkfs.fat", "fsck.fat", "mshowfat", "mkfs.exfat", "mount.exfat-fuse", "mkswap");
    Shell.require("mkfs.btrfs", "btrfs", "mount");
    NtfsSample.needsTools();
  }

  /**
   * Makes one.
   *
   * @param folder a new one of its own, with a folder {@code mnt}
   */
  static GeneratedPart random(Path folder, Random random) throws IOException {
    Path file = folder.resolve("file");
    return switch (random.nextInt(8)) {
      case 0 -> ofNtfs(file, random);
      case 1 -> ofFat(file, random, FileSystemKind.FAT);
      case 2 -> ofFat(file, random, FileSystemKind.EXFAT);
      case 3 -> ofSwap(file, random);
      case 4 -> ofBtrfs(file, random);
      case 5 -> ofLinux(file, random, true);
      default -> ofLinux(file, random, false);
    };
  }

  private static <T> T drawn(Supplier<T> draw, Predicate<T> isWanted) {
    T drawn = draw.get();
    while (!isWanted.test(drawn)) {
      drawn = draw.get();
    }
    return drawn;
  }

  private static Path mountPoint(Path file) {
    return file.resolveSibling("mnt");
  }

  /** As it stands alone. */
  private static List<FreeRange> read(Path file) throws IOException {
    try (ImageFile image = new ImageFile(file)) {
      return Ranges.of((Inspection.Clean) FileSystems.inspect(image));
    }
  }

  private static long sum(List<FreeRange> free) {
    return free.stream().mapToLong(FreeRange::length).sum();
  }

  private static GeneratedPart ofLinux(Path file, Random random, boolean xfs) {
    Sample sample =
        drawn(
            () -> Samples.random(random),
            one -> one.xfs() == xfs && one.megabytes() <= MOST_MIB && one.after().isEmpty());
    sample.make(file, mountPoint(file), random);
    if (!xfs) { // debugfs, where it writes the files, does not count them for quotas
      Shell.stream(List.of("e2fsck", "-fy", file.toString()), line -> {});
    }
    sums(file, sample, "before");
    return new GeneratedPart(
        sample.toString(),
        file,
        xfs ? Ranges.ofXfsDb(file.toString()) : Ranges.ofDumpe2fs(file.toString()),
        () -> {
          if (xfs) {
            Shell.run("xfs_repair", "-n", "-f", file.toString());
          } else {
            Shell.run("e2fsck", "-fn", file.toString());
          }
          sums(file, sample, "after");
          Shell.run(
              "cmp",
              file.resolveSibling("before").toString(),
              file.resolveSibling("after").toString());
        });
  }

  /** Writes checksums of all files beside the image, where this kernel mounts it or debugfs can. */
  private static void sums(Path file, Sample sample, String name) {
    String otherwise =
        sample.fill() == Sample.Fill.EMPTY
            ? "true"
            : sample.xfs() ? "exit 1" : "debugfs -R \"rdump / $folder\" $file >/dev/null 2>&1";
    String options = sample.xfs() ? "norecovery" : "noload";
    Shell.script(
        String.join(
            "\n",
            "file=" + file + " folder=" + mountPoint(file),
            "mount -o loop,ro," + options + " $file $folder 2>/dev/null || " + otherwise,
            "cd $folder",
            "find . -type f -print0 | sort -z | xargs -0r sha256sum >../" + name,
            "cd /; ! mountpoint -q $folder || umount $folder",
            "rm -rf --one-file-system $folder; mkdir $folder"));
  }

  private static GeneratedPart ofNtfs(Path file, Random random) throws IOException {
    NtfsSample sample =
        drawn(
            () -> NtfsSample.random(random),
            one -> one.kilobytes() <= MOST_MIB << 10 && one.after().isEmpty());
    sample.make(file, mountPoint(file), random);
    List<String> contents = NtfsSample.contents(file, mountPoint(file));
    return new GeneratedPart(
        sample.toString(),
        file,
        NtfsSample.free(file),
        () -> {
          NtfsSample.check(file);
          assertThat(NtfsSample.contents(file, mountPoint(file))).isEqualTo(contents);
        });
  }

  private static GeneratedPart ofFat(Path file, Random random, FileSystemKind kind)
      throws IOException {
    DosSample sample =
        drawn(
            () -> DosSample.random(random),
            one -> one.kind() == kind && one.kibibytes() <= MOST_MIB << 10);
    sample.make(file, file.getParent(), random);
    List<FreeRange> free = read(file);
    if (kind == FileSystemKind.FAT) {
      assertThat(free).isEqualTo(DosTools.ofFat(file.toString()));
    } else {
      assertThat(sum(free)).isEqualTo(DosTools.freeBytesOfExfat(file.toString()));
    }
    sample.extract(file, file.getParent(), file.resolveSibling("before"));
    return new GeneratedPart(
        sample.toString(),
        file,
        free,
        () -> {
          DosTools.check(kind, file);
          sample.extract(file, file.getParent(), file.resolveSibling("after"));
          Shell.run(
              "diff",
              "-r",
              file.resolveSibling("before").toString(),
              file.resolveSibling("after").toString());
        });
  }

  private static GeneratedPart ofSwap(Path file, Random random) throws IOException {
    DosSample sample = DosSample.of("mkswap", (1 + random.nextInt(64)) << 10);
    String said = sample.make(file, file.getParent(), random);
    List<FreeRange> free = read(file);
    assertThat(sum(free)).isEqualTo(DosTools.freeBytesOfSwap(said));
    return new GeneratedPart(
        sample.toString(), file, free, () -> DosTools.check(FileSystemKind.SWAP, file));
  }

  private static GeneratedPart ofBtrfs(Path file, Random random) {
    BtrfsSample sample =
        drawn(() -> BtrfsSample.random(random), one -> one.megabytes() <= MOST_MIB);
    sample.make(file, mountPoint(file), random);
    return new GeneratedPart(
        sample.toString(), file, BtrfsDump.free(file), () -> sample.verify(file, mountPoint(file)));
  }

  /** The length of its file in bytes. */
  long size() throws IOException {
    return Files.size(file);
  }
}
