package io.cephcsi.driver.reclaim.fs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What {@code btrfs inspect-internal dump-tree} says of the use of a device. */
final class BtrfsDump {
  private static final Pattern CHUNK =
      Pattern.compile("key \\(FIRST_CHUNK_TREE CHUNK_ITEM (\\d+)\\)");
  private static final Pattern LENGTH = Pattern.compile("^\\s+length (\\d+) owner");
  private static final Pattern STRIPE = Pattern.compile("stripe \\d+ devid \\d+ offset (\\d+)");
  private static final Pattern TOTAL = Pattern.compile("devid \\d+ total_bytes (\\d+)");
  private static final Pattern EXTENT =
      Pattern.compile("item \\d+ key \\((\\d+) (EXTENT|METADATA)_ITEM (\\d+)\\)");
  private static final long[] SUPERBLOCKS = {64L << 10, 64L << 20, 256L << 30};

  private final TreeMap<Long, Long> lengths = new TreeMap<>();
  private final TreeMap<Long, List<Long>> stripes = new TreeMap<>();
  private final List<FreeRange> used = new ArrayList<>();
  private long total;
  private long nodeSize;

  private BtrfsDump() {}

  /** The free ranges: what no extent, no superblock and not the first MiB has. */
  static List<FreeRange> free(Path image) {
    BtrfsDump dump = new BtrfsDump();
    dump.readChunks(image);
    dump.readExtents(image);
    return dump.complement();
  }

  private static void run(
      Path image, java.util.function.Consumer<String> lines, String... command) {
    List<String> words = new ArrayList<>(List.of("btrfs", "inspect-internal"));
    words.addAll(List.of(command));
    words.add(image.toString());
    if (Shell.stream(words, lines) != 0) {
      throw new AssertionError(words + " failed");
    }
  }

  private void readChunks(Path image) {
    run(
        image,
        line -> {
          if (line.startsWith("nodesize")) {
            nodeSize = Long.parseLong(line.substring(8).strip());
          }
        },
        "dump-super");
    long[] at = new long[1];
    run(
        image,
        line -> {
          Matcher chunk = CHUNK.matcher(line);
          Matcher length = LENGTH.matcher(line);
          Matcher stripe = STRIPE.matcher(line);
          Matcher device = TOTAL.matcher(line);
          if (chunk.find()) {
            at[0] = Long.parseLong(chunk.group(1));
            stripes.put(at[0], new ArrayList<>());
          } else if (length.find()) {
            lengths.put(at[0], Long.parseLong(length.group(1)));
          } else if (stripe.find()) {
            stripes.get(at[0]).add(Long.parseLong(stripe.group(1)));
          } else if (device.find()) {
            total = Long.parseLong(device.group(1));
          }
        },
        "dump-tree",
        "-t",
        "chunk");
  }

  private void readExtents(Path image) {
    run(
        image,
        line -> {
          Matcher extent = EXTENT.matcher(line);
          if (extent.find()) {
            long start = Long.parseLong(extent.group(1));
            long length =
                extent.group(2).equals("EXTENT") ? Long.parseLong(extent.group(3)) : nodeSize;
            long chunk = lengths.floorKey(start);
            if (start + length > chunk + lengths.get(chunk)) {
              throw new AssertionError("an extent in no chunk: " + line);
            }
            for (long stripe : stripes.get(chunk)) {
              used.add(new FreeRange(stripe + start - chunk, length));
            }
          }
        },
        "dump-tree",
        "-t",
        "extent");
  }

  private List<FreeRange> complement() {
    used.add(new FreeRange(0, 1 << 20));
    for (long superblock : SUPERBLOCKS) {
      used.add(new FreeRange(superblock, 64 << 10));
    }
    used.sort(Comparator.comparingLong(FreeRange::offset));
    List<FreeRange> free = new ArrayList<>();
    long end = 0;
    for (FreeRange range : used) {
      if (range.offset() > end && end < total) {
        free.add(new FreeRange(end, Math.min(range.offset(), total) - end));
      }
      end = Math.max(end, range.end());
    }
    if (end < total) {
      free.add(new FreeRange(end, total - end));
    }
    return free;
  }
}
