package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Free ranges as the tools of the file systems list them, and comparisons with ours. */
final class Ranges {
  private static final Pattern NUMBER = Pattern.compile("^(Block|Cluster) size: +(\\d+)$");
  private static final Pattern EXTENT = Pattern.compile("(\\d+):\\[(\\d+),(\\d+)]");

  private Ranges() {}

  static List<FreeRange> of(Inspection.Clean clean) {
    List<FreeRange> ranges = new ArrayList<>();
    clean.freeRanges(ranges::add);
    return ranges;
  }

  /** What dumpe2fs says. It names the first block of the last cluster as the end of a range. */
  static List<FreeRange> ofDumpe2fs(String image) {
    long[] sizes = new long[2];
    boolean[] inGroups = new boolean[1];
    List<FreeRange> ranges = new ArrayList<>();
    int code =
        Shell.stream(
            List.of("dumpe2fs", image),
            line -> {
              Matcher number = NUMBER.matcher(line);
              if (number.matches()) {
                sizes[number.group(1).equals("Block") ? 0 : 1] = Long.parseLong(number.group(2));
              }
              inGroups[0] |= line.startsWith("Group 0:");
              if (inGroups[0] && line.startsWith("  Free blocks: ")) {
                addAll(line.substring(15).strip(), sizes[0], Math.max(sizes[0], sizes[1]), ranges);
              }
            });
    if (code != 0) {
      throw new AssertionError("dumpe2fs " + image + " ended with " + code);
    }
    return merged(ranges);
  }

  private static void addAll(String list, long block, long cluster, List<FreeRange> ranges) {
    for (String range : list.split(", ", -1)) {
      if (!range.isEmpty()) {
        String[] ends = range.split("-", -1);
        long from = Long.parseLong(ends[0]) * block;
        long to = Long.parseLong(ends[ends.length - 1]) * block + cluster;
        ranges.add(new FreeRange(from, to - from));
      }
    }
  }

  /** What xfs_db finds in the free-space trees by block. */
  static List<FreeRange> ofXfsDb(String image) {
    long[] superblock = new long[3];
    List<String> names = List.of("blocksize = ", "agblocks = ", "agcount = ");
    Shell.stream(
        List.of("xfs_db", "-r", "-c", "sb 0", "-c", "p", image),
        line -> {
          for (int i = 0; i < 3; i++) {
            if (line.startsWith(names.get(i))) {
              superblock[i] = Long.parseLong(line.substring(names.get(i).length()));
            }
          }
        });
    List<FreeRange> ranges = new ArrayList<>();
    for (long group = 0; group < superblock[2]; group += 64) {
      dumpTrees(image, group, Math.min(group + 64, superblock[2]), superblock, ranges);
    }
    return merged(ranges);
  }

  private static void dumpTrees(
      String image, long first, long end, long[] superblock, List<FreeRange> ranges) {
    List<String> command = new ArrayList<>(List.of("xfs_db", "-r"));
    for (long group = first; group < end; group++) {
      command.addAll(List.of("-c", "echo group " + group, "-c", "agf " + group));
      command.addAll(List.of("-c", "addr bnoroot", "-c", "btdump"));
    }
    command.add(image);
    long[] group = new long[1];
    boolean[] records = new boolean[1];
    Shell.stream(
        command,
        line -> {
          if (line.startsWith("group ")) {
            group[0] = Long.parseLong(line.substring(6).strip());
          } else if (line.matches("(recs|keys|ptrs)\\[.*")) {
            records[0] = line.startsWith("recs");
          }
          Matcher extent = EXTENT.matcher(line);
          while (records[0] && extent.find()) {
            long start = group[0] * superblock[1] + Long.parseLong(extent.group(2));
            long length = Long.parseLong(extent.group(3));
            ranges.add(new FreeRange(start * superblock[0], length * superblock[0]));
          }
        });
  }

  private static List<FreeRange> merged(List<FreeRange> ranges) {
    ranges.sort(Comparator.comparingLong(FreeRange::offset));
    List<FreeRange> merged = new ArrayList<>();
    for (FreeRange range : ranges) {
      int last = merged.size() - 1;
      if (last >= 0 && merged.get(last).end() == range.offset()) {
        FreeRange before = merged.get(last);
        merged.set(last, new FreeRange(before.offset(), before.length() + range.length()));
      } else {
        merged.add(range);
      }
    }
    return Collections.unmodifiableList(merged);
  }

  /** The first of the ranges that is not wholly inside of one of {@code free}, or nothing. */
  static List<FreeRange> outsideOf(List<FreeRange> free, List<FreeRange> ranges) {
    int next = 0;
    for (FreeRange range : ranges) {
      while (next < free.size() && free.get(next).end() <= range.offset()) {
        next++;
      }
      boolean inside =
          next < free.size()
              && free.get(next).offset() <= range.offset()
              && range.end() <= free.get(next).end();
      if (!inside) {
        return List.of(range);
      }
    }
    return List.of();
  }
}
