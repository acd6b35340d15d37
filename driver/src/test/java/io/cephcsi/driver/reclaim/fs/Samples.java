package io.cephcsi.driver.reclaim.fs;

import io.cephcsi.driver.reclaim.fs.Sample.Fill;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The file systems of the tests: some that were chosen, and any number drawn at random. */
final class Samples {
  private Samples() {}

  /** One for each way of laying out free space that the readers know. */
  static List<Sample> chosen() {
    List<Sample> samples = new ArrayList<>(chosenExt());
    samples.addAll(chosenXfs());
    return samples;
  }

  private static List<Sample> chosenExt() {
    return List.of(
        Sample.of("mkfs.ext2 -b 1024", 64, Fill.MOUNT),
        Sample.of("mkfs.ext2 -b 4096 -r 0 -O none", 40, Fill.MOUNT),
        Sample.of("mkfs.ext3 -b 4096 -O ^resize_inode,^sparse_super", 700, Fill.MOUNT),
        Sample.of("mkfs.ext3 -b 2048 -g 4096", 100, Fill.MOUNT),
        Sample.of("mkfs.ext4", 1500, Fill.MOUNT),
        Sample.of("mkfs.ext4 -b 1024", 300, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O ^64bit,^metadata_csum,uninit_bg", 2000, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O ^64bit", 600, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O meta_bg,^resize_inode", 3000, Fill.MOUNT),
        Sample.of("mkfs.ext4 -b 1024 -O meta_bg,^resize_inode,^flex_bg", 500, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O ^flex_bg", 2000, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O bigalloc -C 65536", 800, Fill.MOUNT),
        Sample.of("mkfs.ext4 -b 1024 -O bigalloc -C 16384", 500, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O sparse_super2,^resize_inode", 2500, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O ^has_journal,quota,project", 300, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O inline_data,encrypt,casefold,orphan_file,mmp", 300, Fill.MOUNT),
        Sample.of("mkfs.ext4 -O fast_commit,metadata_csum_seed", 200, Fill.MOUNT)
            .then("tune2fs -U random $IMAGE >/dev/null 2>&1"),
        Sample.of("mkfs.ext4", 300, Fill.MOUNT)
            .then("truncate -s 5G $IMAGE; e2fsck -fp $IMAGE >/dev/null; resize2fs $IMAGE 2>&1"),
        Sample.of("mkfs.ext4 -O ^resize_inode", 3000, Fill.MOUNT)
            .then("e2fsck -fp $IMAGE >/dev/null; resize2fs $IMAGE 400M 2>&1"),
        Sample.of("mkfs.ext4", 100 << 10, Fill.MOUNT));
  }

  private static List<Sample> chosenXfs() {
    return List.of(
        Sample.of("mkfs.xfs", 500, Fill.MOUNT),
        Sample.of("mkfs.xfs -b size=1024 -m rmapbt=1", 400, Fill.MOUNT),
        Sample.of("mkfs.xfs -m rmapbt=1,reflink=1,inobtcount=1,bigtime=1", 600, Fill.MOUNT),
        Sample.of("mkfs.xfs -s size=4096 -l su=32k", 500, Fill.MOUNT),
        Sample.of("mkfs.xfs -l size=300m,su=256k -d agcount=4", 3000, Fill.MOUNT),
        Sample.of("mkfs.xfs -m finobt=0,reflink=0 -i sparse=0", 400, Fill.MOUNT),
        Sample.of("mkfs.xfs", 500, Fill.MOUNT).then("xfs_admin -U generate $IMAGE >/dev/null 2>&1"),
        Sample.of("mkfs.xfs", 400, Fill.MOUNT)
            .then(
                "truncate -s 3G $IMAGE; mount -o loop $IMAGE $MNT;"
                    + " xfs_growfs $MNT >/dev/null; umount $MNT"),
        Sample.of("mkfs.xfs -m crc=0", 500, Fill.EMPTY),
        Sample.of("mkfs.xfs -m crc=0 -l version=1,lazy-count=0", 400, Fill.EMPTY),
        Sample.of("mkfs.xfs", 100 << 10, Fill.MOUNT));
  }

  /** A file system with random options. */
  static Sample random(Random random) {
    return random.nextInt(3) == 0 ? randomXfs(random) : randomExt(random);
  }

  private static Sample randomExt(Random random) {
    List<String> features = new ArrayList<>();
    String program = pick(random, "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.ext4", "mkfs.ext4");
    int block = 1024 << random.nextInt(3);
    StringBuilder mkfs = new StringBuilder(program).append(" -b ").append(block);
    long megabytes = size(random, block);
    boolean metaGroups = random.nextInt(4) == 0;
    if (metaGroups) {
      features.addAll(List.of("meta_bg", "^resize_inode"));
    } else {
      maybe(random, features, 4, "^resize_inode");
    }
    maybe(random, features, 5, metaGroups ? "sparse_super" : "sparse_super2");
    if (program.equals("mkfs.ext4")) {
      ext4Features(random, features);
      if (random.nextInt(5) == 0) {
        features.addAll(List.of("bigalloc", "extents"));
        mkfs.append(" -C ").append(block << (1 + random.nextInt(6)));
      } else if (random.nextInt(3) == 0) {
        mkfs.append(" -g ").append(256 << random.nextInt(block == 1024 ? 6 : 7));
      }
      if (!features.contains("^flex_bg") && random.nextInt(2) == 0) {
        mkfs.append(" -G ").append(1 << random.nextInt(9));
      }
      mkfs.append(" -E lazy_itable_init=").append(random.nextInt(2));
    }
    if (!features.contains("bigalloc") && random.nextInt(4) == 0) {
      mkfs.append(" -N ").append(500 + random.nextInt(20000));
    }
    if (!features.isEmpty()) {
      mkfs.append(" -O ").append(String.join(",", features));
    }
    Sample sample =
        Sample.of(mkfs.toString(), megabytes, random.nextInt(6) == 0 ? Fill.EMPTY : Fill.MOUNT);
    return resized(random, sample);
  }

  private static void ext4Features(Random random, List<String> features) {
    features.add(
        pick(
            random,
            "metadata_csum",
            "metadata_csum",
            "^metadata_csum",
            "^metadata_csum,uninit_bg"));
    maybe(random, features, 3, "^64bit");
    maybe(random, features, 4, "^flex_bg");
    maybe(random, features, 4, "^has_journal");
    maybe(random, features, 5, "quota");
    maybe(random, features, 6, "inline_data");
    maybe(random, features, 6, "encrypt");
    maybe(random, features, 6, "casefold");
    maybe(random, features, 6, "^huge_file,^extra_isize,^dir_nlink");
    if (!features.contains("^has_journal")) {
      maybe(random, features, 5, "orphan_file");
      maybe(random, features, 6, "fast_commit");
    }
    maybe(random, features, 6, "mmp");
  }

  private static Sample resized(Random random, Sample sample) {
    if (random.nextInt(4) != 0) {
      return sample;
    }
    long to = Math.max(40, sample.megabytes() * (random.nextInt(25) + 5) / 10);
    // What cannot be resized is compared as it was: most often it would not fit.
    return sample.then(
        "e2fsck -fp $IMAGE >/dev/null 2>&1 || true; test "
            + to
            + " -lt "
            + sample.megabytes()
            + " || truncate -s "
            + to
            + "M $IMAGE; cp --sparse=always $IMAGE $IMAGE.old; resize2fs $IMAGE "
            + to
            + "M >/dev/null 2>&1 || mv $IMAGE.old $IMAGE; rm -f $IMAGE.old");
  }

  private static Sample randomXfs(Random random) {
    boolean v5 = random.nextInt(4) != 0;
    int block = 1024 << random.nextInt(3);
    int sector = Math.min(block, random.nextBoolean() ? 512 : 4096);
    long megabytes = 320 + size(random, block);
    List<String> words = new ArrayList<>(List.of("mkfs.xfs", "-b", "size=" + block));
    words.addAll(List.of("-s", "size=" + sector));
    if (v5) {
      int finobt = random.nextInt(4) == 0 ? 0 : 1;
      words.addAll(
          List.of(
              "-m",
              "finobt="
                  + finobt
                  + ",inobtcount="
                  + (finobt & random.nextInt(2))
                  + ",rmapbt="
                  + random.nextInt(2)
                  + ",reflink="
                  + random.nextInt(2)
                  + ",bigtime="
                  + random.nextInt(2)));
      words.addAll(List.of("-i", "sparse=" + random.nextInt(2) + ",nrext64=" + random.nextInt(2)));
    } else {
      words.addAll(List.of("-m", "crc=0,finobt=0", "-n", "ftype=" + random.nextInt(2)));
    }
    boolean version1 = !v5 && random.nextBoolean() && sector == 512;
    String log = version1 ? "version=1,lazy-count=" + random.nextInt(2) : "version=2";
    if (!version1 && random.nextBoolean()) {
      log += ",su=" + pick(random, "4k", "16k", "32k", "64k", "256k");
    }
    words.addAll(List.of("-l", log));
    if (random.nextBoolean()) {
      words.addAll(
          List.of("-d", "agcount=" + (2 + random.nextInt((int) Math.min(megabytes / 100, 40)))));
    }
    return new Sample(words, megabytes, v5 ? Fill.MOUNT : Fill.EMPTY, "");
  }

  /** Mostly small, sometimes up to 100 GiB (less with small blocks, where mkfs is slow). */
  private static long size(Random random, int block) {
    return switch (random.nextInt(8)) {
      case 0 -> 16 + random.nextInt(48);
      case 1 -> block == 4096 ? 10_000 + random.nextInt(90_000) : 3000 + random.nextInt(5000);
      case 2 -> 1000 + random.nextInt(7000);
      default -> 32 + random.nextInt(900);
    };
  }

  private static void maybe(Random random, List<String> features, int oneIn, String feature) {
    if (random.nextInt(oneIn) == 0) {
      features.add(feature);
    }
  }

  private static String pick(Random random, String... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
