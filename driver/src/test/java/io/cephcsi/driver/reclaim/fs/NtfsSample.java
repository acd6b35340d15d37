package io.cephcsi.driver.reclaim.fs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An NTFS volume to make, and what the tools of ntfs-3g say of it.
 *
 * @param options of mkntfs
 * @param kilobytes size of the image
 * @param files how many files are written, of which some are deleted; 0 leaves it empty
 * @param after shell commands run on the unmounted image {@code $IMAGE}, or empty
 */
record NtfsSample(String options, long kilobytes, int files, String after) {
  private static final Pattern NUMBER =
      Pattern.compile("\\s*(Cluster Size|Volume Size in Clusters): (\\d+)");

  static NtfsSample of(String options, long kilobytes, int files) {
    return new NtfsSample(options, kilobytes, files, "");
  }

  NtfsSample then(String script) {
    return new NtfsSample(options, kilobytes, files, script);
  }

  static void needsTools() {
    Shell.require("mkntfs", "ntfs-3g", "ntfsinfo", "ntfscat", "ntfsresize", "ntfsfix", "setfattr");
  }

  static NtfsSample random(Random random) {
    int sector = 512 << random.nextInt(4);
    int most = random.nextInt(4) == 0 ? 13 : 8;
    int cluster = Math.max(sector, 512 << random.nextInt(most));
    long kilobytes = 3000 + random.nextInt(100_000) + cluster / 1024L * (350 + random.nextInt(100));
    if (random.nextInt(6) == 0) {
      kilobytes *= 1 + random.nextInt(200);
    }
    int files = random.nextInt(8) == 0 ? 0 : 10 + random.nextInt(Campaign.full() ? 500 : 150);
    NtfsSample sample = of("-s " + sector + " -c " + cluster, kilobytes, files);
    if (random.nextInt(5) != 0) {
      return sample;
    }
    long more = kilobytes + 4096 + random.nextInt(200_000);
    return sample.then(
        "truncate -s "
            + more
            + "k $IMAGE; ntfsresize -f -f $IMAGE >/dev/null; "
            + "ntfsfix -d $IMAGE >/dev/null");
  }

  /** Makes and fills the volume. */
  void make(Path image, Path mountPoint, Random random) {
    Shell.script(
        "truncate -s 0 "
            + image
            + "; truncate -s "
            + kilobytes
            + "k "
            + image
            + "; mkntfs -F -Q "
            + options
            + " "
            + image);
    if (files > 0) {
      mounted(image, mountPoint, fill(mountPoint, random));
    }
    if (!after.isEmpty()) {
      Shell.script("IMAGE=" + image + "\nMNT=" + mountPoint + "\n" + after);
    }
  }

  /** Runs shell commands while the image is mounted, and waits until ntfs-3g has ended. */
  static void mounted(Path image, Path mountPoint, String script) {
    Shell.script(
        String.join(
            "\n",
            "ntfs-3g -o compression,no_detach,big_writes "
                + image
                + " "
                + mountPoint
                + " >/dev/null 2>&1 &",
            "trap 'cd /; umount " + mountPoint + " || kill $!' EXIT",
            "for i in $(seq 500); do mountpoint -q " + mountPoint + " && break; sleep 0.01; done",
            "mountpoint -q " + mountPoint,
            script,
            "cd /; trap - EXIT; umount " + mountPoint,
            "wait"));
  }

  /** Small and fragmented files, holes, compression, streams, long names, a wide directory. */
  private String fill(Path directory, Random random) {
    long budget = Math.min(kilobytes / 3, 16_000) << 10;
    long most = Math.max(2, 2 * budget / files);
    return String.join(
        "\n",
        "cd " + directory,
        "RANDOM=" + random.nextInt(32768),
        "full=",
        "mkdir -p packed wide/deep",
        "setfattr -n system.ntfs_attrib_be -v 0x00000810 packed",
        // Without a process for each file: printf, RANDOM and the like are of the shell itself.
        "noise=$(base64 -w 0 /dev/urandom | head -c 400000)",
        "for ((i = 0; i < " + files + "; i++)); do",
        "  printf %s \"${noise:0:$(((RANDOM * 32768 + RANDOM) % "
            + most
            + "))}\""
            + " >wide/a-long-name-of-a-file-$i || { full=1; break; }",
        "  ((i % 40)) || rm -f wide/*$((RANDOM % 10))",
        "done 2>/dev/null",
        "test -n \"$full\" || {",
        "printf %s \"${noise:0:" + (budget / 4) + "}\" >fragmented || true",
        "for ((i = 0; i < 12; i++)); do",
        "  ln fragmented wide/deep/a-link-with-a-very-long-name-so-that-a-record-is-full-$i",
        "done 2>/dev/null || true",
        "for i in 3 300 3000; do",
        "  setfattr -n user.stream$i -v \"${noise:0:$i}\" fragmented",
        "done 2>/dev/null || true",
        "printf \"%" + Math.min(budget / 8, 700_000) + "s\" packed >packed/text || true",
        "truncate -s 20M holes || true",
        "echo end >>holes || true",
        "echo part | dd of=holes bs=1M seek=9 conv=notrunc 2>/dev/null || true",
        "rm -f wide/*[13579] || true",
        "}",
        "sync -f . || true",
        "cd /");
  }

  /** The free ranges by the bitmap that ntfscat prints. */
  static List<FreeRange> free(Path image) throws IOException {
    long[] numbers = new long[2];
    Shell.stream(
        List.of("ntfsinfo", "-m", image.toString()),
        line -> {
          Matcher number = NUMBER.matcher(line);
          if (number.matches()) {
            numbers[number.group(1).startsWith("C") ? 0 : 1] = Long.parseLong(number.group(2));
          }
        });
    BitSet used = BitSet.valueOf(cat(image));
    List<FreeRange> free = new ArrayList<>();
    int clusters = Math.toIntExact(numbers[1]);
    if (clusters == 0) {
      throw new AssertionError("ntfsinfo does not know " + image);
    }
    int from = used.nextClearBit(0);
    while (from < clusters) {
      int to = used.nextSetBit(from);
      to = to < 0 ? clusters : Math.min(to, clusters);
      free.add(new FreeRange(from * numbers[0], (to - from) * numbers[0]));
      from = used.nextClearBit(to);
    }
    return free;
  }

  private static byte[] cat(Path image) throws IOException {
    Process process =
        new ProcessBuilder("ntfscat", "-f", "-i", "6", image.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    process.getInputStream().transferTo(bytes);
    return bytes.toByteArray();
  }

  /** All that can be read from the volume, as digests. */
  static List<String> contents(Path image, Path mountPoint) {
    List<String> lines = new ArrayList<>();
    String script =
        String.join(
            "\n",
            "ntfs-3g -o ro " + image + " " + mountPoint,
            "cd " + mountPoint,
            "find . -type f -print0 | sort -z | xargs -0r sha256sum",
            "find . -printf '%p %s %m\\n' | sort",
            "test ! -e fragmented || getfattr -d fragmented | sha256sum",
            "cd /",
            "umount " + mountPoint);
    int code =
        Shell.stream(
            List.of("unshare", "-m", "--propagation", "slave", "bash", "-euc", script), lines::add);
    if (code != 0) {
      throw new AssertionError("reading ended with " + code + ": " + lines);
    }
    return lines;
  }

  /** Whether ntfsresize, which counts the clusters of all files, finds the bitmap right. */
  static void check(Path image) {
    List<String> lines = new ArrayList<>();
    int code = Shell.stream(List.of("ntfsresize", "-i", "-f", image.toString()), lines::add);
    // It ends with 1 when a volume is too full to be shrunk, after the count.
    boolean full = lines.toString().contains("Collecting resizing constraints");
    if (code != 0 && !full) {
      throw new AssertionError("ntfsresize -i ended with " + code + ": " + lines);
    }
  }

  @Override
  public String toString() {
    return "mkntfs "
        + options
        + " on "
        + kilobytes
        + " KiB, "
        + files
        + " files"
        + (after.isEmpty() ? "" : ", then " + after);
  }
}
