package io.cephcsi.driver.reclaim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A FAT or exFAT file system, or a swap area, to make.
 *
 * @param mkfs program and options, without the image
 * @param kibibytes size of the image
 * @param filled whether files are written, and some of them deleted
 * @param after arguments behind the image
 */
record DosSample(String mkfs, long kibibytes, boolean filled, String after) {

  static DosSample of(String mkfs, long kibibytes) {
    return new DosSample(mkfs, kibibytes, !mkfs.startsWith("mkswap"), "");
  }

  static DosSample empty(String mkfs, long kibibytes) {
    return new DosSample(mkfs, kibibytes, false, "");
  }

  FileSystemKind kind() {
    return mkfs.startsWith("mkswap")
        ? FileSystemKind.SWAP
        : mkfs.startsWith("mkfs.exfat") ? FileSystemKind.EXFAT : FileSystemKind.FAT;
  }

  /** Makes it in a sparse file; answers what mkfs said. */
  String make(Path image, Path directory, Random random) {
    Shell.run("rm", "-f", image.toString());
    Shell.run("truncate", "-s", kibibytes + "K", image.toString());
    List<String> command = new ArrayList<>(List.of(mkfs.split(" +", -1)));
    command.add(image.toString());
    if (!after.isEmpty()) {
      command.add(after);
    }
    StringBuilder said = new StringBuilder();
    if (Shell.stream(command, line -> said.append(line).append('\n')) != 0) {
      throw new AssertionError(command + ":\n" + said);
    }
    if (filled && kind() == FileSystemKind.FAT) {
      fillByMtools(image, directory, random);
    } else if (filled && kind() == FileSystemKind.EXFAT) {
      mounted(image, directory, "rw", "cd $MNT\n" + files(random));
    }
    return said.toString();
  }

  private long budget() {
    return Math.min(kibibytes / 4, 6 << 10);
  }

  /** Bash lines that write files into directories of the current one, and delete some. */
  private String files(Random random) {
    int count = 20 + random.nextInt(60);
    long most = Math.max(1, 2 * budget() / count);
    return String.join(
        "\n",
        write("d", count, most, random),
        "for f in d*/f*; do ((RANDOM % 100 >= " + random.nextInt(90) + ")) || rm $f; done",
        write("e", 1 + count / 8, 4 * most, random),
        "for f in [de]*/f*; do ((RANDOM % 3)) || rm $f; done",
        "touch 'an empty file with a long name'",
        "mkdir -p d1/a/b/c; echo x >d1/a/b/c/d; cd /");
  }

  private static String write(String to, int count, long most, Random random) {
    return String.join(
        "\n",
        "RANDOM=" + random.nextInt(32768),
        "for i in $(seq " + count + "); do",
        "  mkdir -p " + to + "$((i % 5))",
        "  head -c $((1024 * (RANDOM % " + most + ") + RANDOM % 1024)) /dev/urandom \\",
        "    >" + to + "$((i % 5))/f$i || break",
        "done");
  }

  private void fillByMtools(Path image, Path directory, Random random) {
    int count = 20 + random.nextInt(60);
    long most = Math.max(1, 2 * budget() / count);
    Shell.script(
        String.join(
            "\n",
            "export MTOOLS_SKIP_CHECK=1 IMAGE=" + image + " SOURCE=" + directory + "/source",
            "rm -rf $SOURCE; mkdir $SOURCE; cd $SOURCE",
            write("d", count, most, random),
            "echo x >'a file with a long name'; : >empty",
            "mcopy -s -i $IMAGE * ::",
            "gone=()",
            "for f in d*/f*; do",
            "  ((RANDOM % 100 >= " + random.nextInt(90) + ")) || gone+=(::$f)",
            "done",
            "((${#gone[@]} == 0)) || mdel -i $IMAGE \"${gone[@]}\"",
            "rm -rf *",
            write("e", 1 + count / 8, 4 * most, random),
            "mapfile -t gone < <(ls -d e*/f* | shuf -n 3 --random-source=<(yes))",
            "mkdir -p e0/a/b/c; echo x >e0/a/b/c/d",
            "mcopy -s -i $IMAGE * ::",
            "mapfile -t -O ${#gone[@]} gone < <(mdir -/ -b -i $IMAGE :: | grep '::/d.*[^/]$'"
                + " | shuf -n $((RANDOM % 20)) --random-source=<(yes))",
            "mdel -i $IMAGE \"${gone[@]/#e/::e}\"",
            "cd /; rm -rf $SOURCE"));
  }

  /** Runs a script with exFAT mounted at {@code $MNT} by a loop device. */
  static void mounted(Path image, Path directory, String options, String script) {
    Shell.script(
        String.join(
            "\n",
            "MNT=" + directory + "/mnt",
            "LOOP=$(losetup -f --show " + image + ")",
            "trap 'losetup -d $LOOP' EXIT",
            "mount.exfat-fuse -o " + options + " $LOOP $MNT >/dev/null",
            script,
            "sync",
            "umount $MNT"));
  }

  /** Copies all files of the image into a directory. */
  void extract(Path image, Path directory, Path to) {
    if (kind() == FileSystemKind.FAT) {
      Shell.script(
          "export MTOOLS_SKIP_CHECK=1\nrm -rf "
              + to
              + "; mkdir "
              + to
              + "\nif [[ $(mdir -b -i "
              + image
              + " :: 2>&1) == ::* ]]; then mcopy -s -n -i "
              + image
              + " '::*' "
              + to
              + "; fi");
    } else {
      mounted(image, directory, "ro", "rm -rf " + to + "; cp -r $MNT " + to);
    }
  }

  @Override
  public String toString() {
    return mkfs + " on " + kibibytes + " KiB" + (filled ? "" : ", empty") + " " + after;
  }

  /** One for each way of laying out clusters. */
  static List<DosSample> chosen() {
    return List.of(
        of("mkfs.fat -F 12 -s 4", 4 << 10),
        of("mkfs.fat -F 12 -S 4096 -s 1 -f 1", 8 << 10),
        of("mkfs.fat -F 16", 40 << 10),
        of("mkfs.fat -F 16 -s 64 -r 1024", 1 << 20),
        of("mkfs.fat -F 16 -a -f 1 -r 112", 20 << 10),
        of("mkfs.fat -F 32 -s 1", 80 << 10),
        of("mkfs.fat -F 32 -n LABEL -R 64 -f 1", 600 << 10),
        of("mkfs.fat -F 32 -S 2048 -s 1 -a", 300 << 10),
        empty("mkfs.fat -F 32", 100 << 20),
        of("mkfs.exfat", 64 << 10),
        of("mkfs.exfat -c 512 -L label", 20 << 10),
        of("mkfs.exfat -c 128K -b 4M", 2 << 20),
        of("mkfs.exfat", 100 << 20),
        empty("mkfs.exfat -c 32M", 3 << 20),
        of("mkswap", 64 << 10),
        of("mkswap -L label -p 65536", 100 << 20),
        new DosSample("mkswap -p 8192", 64 << 10, false, "50000"));
  }

  static DosSample random(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> randomSwap(random);
      case 1, 2, 3 -> randomExfat(random);
      default -> randomFat(random);
    };
  }

  private static DosSample randomSwap(Random random) {
    long size = 1024L + random.nextInt(1 << 20);
    String after =
        random.nextBoolean() ? "" : String.valueOf(1000 + random.nextInt((int) size - 1000));
    return new DosSample("mkswap -p " + (4096 << random.nextInt(5)), size, false, after);
  }

  private static DosSample randomExfat(Random random) {
    long size = (4L << 10) + random.nextInt(random.nextInt(4) == 0 ? 8 << 20 : 100 << 10);
    String mkfs = "mkfs.exfat";
    if (random.nextBoolean()) {
      mkfs += " -c " + (512 << random.nextInt(9));
    }
    if (random.nextInt(3) == 0) {
      mkfs += " -b " + (1 << (10 + random.nextInt(11)));
    }
    return new DosSample(mkfs, size, random.nextInt(8) != 0, "");
  }

  private static DosSample randomFat(Random random) {
    int bits = List.of(12, 16, 32, 32).get(random.nextInt(4));
    int sector = random.nextInt(3) == 0 ? 512 << random.nextInt(4) : 512;
    int perCluster = 1 << random.nextInt(bits == 32 ? 4 : 6);
    int clusters =
        switch (bits) {
          case 12 -> 1000 + random.nextInt(2200);
          case 16 -> 4300 + random.nextInt(60000);
          default -> 68000 + random.nextInt(200000);
        };
    long size = (((long) clusters * sector * perCluster) >> 10) + (bits == 32 ? 2048 : 400);
    StringBuilder mkfs = new StringBuilder("mkfs.fat -F ").append(bits);
    mkfs.append(" -S ").append(sector).append(" -s ").append(perCluster);
    mkfs.append(" -f ").append(1 + random.nextInt(2));
    if (random.nextInt(3) == 0) {
      mkfs.append(" -a");
    }
    if (bits != 32 && random.nextBoolean()) {
      mkfs.append(" -r ").append(128 << random.nextInt(4));
    }
    if (bits == 32 && random.nextInt(3) == 0) {
      mkfs.append(" -R ").append(20 + random.nextInt(200));
    }
    return new DosSample(mkfs.toString(), size, bits != 32 || random.nextInt(8) != 0, "");
  }
}
