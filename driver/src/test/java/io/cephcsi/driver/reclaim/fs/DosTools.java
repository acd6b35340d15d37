package io.cephcsi.driver.reclaim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What dosfstools, mtools, exfatprogs and mkswap say of free space. */
final class DosTools {
  private static final Pattern RANGE = Pattern.compile("<(\\d+)(?:-(\\d+))?>");
  private static final Pattern DATA = Pattern.compile("Data area starts at byte (\\d+).*");
  private static final Pattern CLUSTER = Pattern.compile(" *(\\d+) bytes per cluster");
  private static final Pattern ROOT = Pattern.compile("Root directory start at cluster (\\d+).*");
  private static final Pattern USED = Pattern.compile(".*, (\\d+)/(\\d+) clusters");
  private static final Pattern SWAP = Pattern.compile("(?s).*\\((\\d+) bytes\\).*");
  private static final Pattern FREE = Pattern.compile("Free Clusters:\\s+(\\d+)");
  private static final Pattern SIZE = Pattern.compile("Cluster size:\\s+(\\d+)");

  private DosTools() {}

  /**
   * Free ranges of FAT: all clusters but those that mshowfat says of each path, and the root's;
   * their number has to be that of fsck.fat.
   */
  static List<FreeRange> ofFat(String image) {
    long data = number(DATA, "fsck.fat", "-n", "-v", image);
    long cluster = number(CLUSTER, "fsck.fat", "-n", "-v", image);
    long used = number(USED, "fsck.fat", "-n", "-v", image);
    long[] total = new long[1];
    Shell.stream(
        List.of("fsck.fat", "-n", image),
        line -> {
          Matcher matcher = USED.matcher(line);
          if (matcher.matches()) {
            total[0] = Long.parseLong(matcher.group(2));
          }
        });
    BitSet taken = new BitSet();
    List<String> lines = new ArrayList<>();
    Shell.stream(
        List.of(
            "bash",
            "-c",
            "export MTOOLS_SKIP_CHECK=1; mdir -/ -b -a -i "
                + image
                + " :: | sed 's,/$,,' | tr '\\n' '\\0' | xargs -0 -r mshowfat -i "
                + image
                + "; fsck.fat -n -v "
                + image
                + " | grep ^Root"),
        lines::add);
    for (String line : lines) {
      Matcher root = ROOT.matcher(line);
      if (root.matches()) {
        taken.set(Integer.parseInt(root.group(1)));
      }
      Matcher range = RANGE.matcher(line);
      while (range.find()) {
        int first = Integer.parseInt(range.group(1));
        int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
        taken.set(first, last + 1);
      }
    }
    if (taken.cardinality() != used) {
      throw new AssertionError(
          "mshowfat finds " + taken.cardinality() + " clusters in use, fsck.fat " + used);
    }
    List<FreeRange> free = new ArrayList<>();
    for (int from = taken.nextClearBit(2); from < total[0] + 2; ) {
      int next = taken.nextSetBit(from);
      long end = next < 0 ? total[0] + 2 : next;
      free.add(new FreeRange(data + (from - 2) * cluster, (end - from) * cluster));
      from = taken.nextClearBit((int) end);
    }
    return free;
  }

  static long freeBytesOfExfat(String image) {
    return number(FREE, "dump.exfat", image) * number(SIZE, "dump.exfat", image);
  }

  /** What mkswap says. */
  static long freeBytesOfSwap(String said) {
    Matcher matcher = SWAP.matcher(said);
    if (!matcher.matches()) {
      throw new AssertionError(said);
    }
    return Long.parseLong(matcher.group(1));
  }

  private static long number(Pattern pattern, String... command) {
    List<Long> found = new ArrayList<>();
    List<String> lines = new ArrayList<>();
    Shell.stream(
        List.of(command),
        line -> {
          lines.add(line);
          Matcher matcher = pattern.matcher(line);
          if (matcher.matches()) {
            found.add(Long.parseLong(matcher.group(1)));
          }
        });
    if (found.isEmpty()) {
      throw new AssertionError(String.join("\n", lines));
    }
    return found.get(0);
  }

  /** Fails unless the check program finds nothing. */
  static void check(FileSystemKind kind, Path image) {
    switch (kind) {
      case FAT -> Shell.run("fsck.fat", "-n", image.toString());
      case EXFAT -> Shell.run("fsck.exfat", "-n", image.toString());
      default -> Shell.run("blkid", "-p", "-u", "other", image.toString());
    }
  }
}
