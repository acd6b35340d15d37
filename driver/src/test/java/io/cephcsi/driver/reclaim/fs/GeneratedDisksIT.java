package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.DiskImage.Piece;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Disks drawn at random: partition tables, logical volumes in pieces, and any file systems in them.
 * What a survey lists is what the tools of the file systems say is free; when that is overwritten,
 * all check programs find nothing and all files are as before. Needs root.
 */
class GeneratedDisksIT extends ImageCase {
  private static final long MIB = 1 << 20;
  private static final long SECTOR = 512;
  private static final int MOST_OVERWRITTEN = 2 << 20;

  @BeforeAll
  static void needsTools() {
    GeneratedPart.needsTools();
    Shell.require("parted", "lvcreate");
  }

  /** How a disk is divided. */
  private enum Table {
    GPT,
    PRIMARY,
    LOGICAL,
    NONE
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsList() {
    Random seeds = new Random(Campaign.SEED);
    return Stream.generate(seeds::nextLong)
        .limit(Campaign.full() ? 200 : 2)
        .map(seed -> test("disk", seed, () -> new Disk(new Random(seed)).check()));
  }

  /** What is between two places of the disk: one file system, or a physical volume with several. */
  private record Slot(long start, long length, List<GeneratedPart> parts, boolean isVolume) {
    long end() {
      return start + length;
    }
  }

  private final class Disk {
    private final Random random;
    private final Path folder;
    private final Table table;
    private final List<Slot> slots = new ArrayList<>();
    private final FreeOfDisk expected = new FreeOfDisk();
    private int made;

    Disk(Random random) throws IOException {
      this.random = random;
      this.folder = Files.createTempDirectory(directory, "parts");
      this.table = List.of(Table.values()).get(random.nextInt(Table.values().length));
      int most = table == Table.PRIMARY ? 4 : 5;
      int count = table == Table.NONE ? 1 : 1 + random.nextInt(most);
      boolean hasVolume = table == Table.NONE || random.nextBoolean();
      long at = table == Table.NONE ? 0 : MIB;
      for (int i = 0; i < count; i++) {
        Slot slot = hasVolume && i == count - 1 ? volume(at) : partition(at);
        slots.add(slot);
        // In front of a logical partition is a sector that says where it lies.
        at = slot.end() + MIB + SECTOR * random.nextInt(3) * random.nextInt(4096);
      }
    }

    private GeneratedPart part() throws IOException {
      Path own = Files.createDirectory(folder.resolve("part" + made++));
      Files.createDirectory(own.resolve("mnt"));
      return GeneratedPart.random(own, random);
    }

    private long sectors(long bytes) {
      return (bytes + SECTOR - 1) / SECTOR * SECTOR;
    }

    private Slot partition(long at) throws IOException {
      GeneratedPart part = part();
      long longer = SECTOR * random.nextInt(3) * random.nextInt(4096);
      return new Slot(at, sectors(part.size()) + longer, List.of(part), false);
    }

    private Slot volume(long at) throws IOException {
      List<GeneratedPart> parts = new ArrayList<>();
      long length = 80 * MIB;
      for (int i = 1 + random.nextInt(3); i > 0; i--) {
        GeneratedPart part = part();
        parts.add(part);
        length += sectors(part.size()) + 8 * MIB;
      }
      return new Slot(at, length, parts, true);
    }

    /** Each volume begins small between others that go, and so gets its rest somewhere else. */
    private String volumes(Slot slot) throws IOException {
      int extent = 1 << random.nextInt(3); // MiB
      StringBuilder script = new StringBuilder("pvcreate -q $PV");
      script.append(random.nextBoolean() ? " --pvmetadatacopies 2" : " --metadatasize 3m");
      script.append("; vgcreate -q -s ").append(extent).append("m vg $PV\n");
      StringBuilder rest = new StringBuilder();
      for (int i = 0; i < slot.parts.size(); i++) {
        long extents = (slot.parts.get(i).size() + extent * MIB - 1) / (extent * MIB);
        long first = 1L + random.nextInt((int) extents);
        int gap = 1 + random.nextInt(16 / extent);
        script.append(
            "lvcreate -n gap%d -l %d vg; lvcreate -n v%d -l %d vg\n".formatted(i, gap, i, first));
        rest.append("lvremove vg/gap").append(i).append('\n');
        if (extents > first) {
          rest.append(
              "command lvextend --driverloaded n -y -l %d vg/v%d >/dev/null 2>&1\n"
                  .formatted(extents, i));
        }
      }
      return script.append(rest).toString();
    }

    private String partitions(long bytes) {
      if (table == Table.NONE) {
        return "true";
      }
      StringBuilder script = new StringBuilder("parted -s -a none $DISK unit s mklabel ");
      script.append(table == Table.GPT ? "gpt" : "msdos");
      for (int i = 0; i < slots.size(); i++) {
        Slot slot = slots.get(i);
        boolean isLogical = table == Table.LOGICAL && i > 0;
        if (isLogical && i == 1) {
          long first = (slot.start - MIB / 2) / SECTOR;
          script.append(" mkpart extended ").append(first).append(' ').append(bytes / SECTOR - 1);
        }
        script.append(" mkpart ").append(isLogical ? "logical" : "primary");
        script.append(' ').append(slot.start / SECTOR).append(' ').append(slot.end() / SECTOR - 1);
      }
      return script + " >/dev/null 2>&1";
    }

    void check() throws IOException {
      long bytes = slots.get(slots.size() - 1).end() + (table == Table.NONE ? 0 : MIB);
      DiskImage disk = DiskImage.make(folder, bytes, partitions(bytes));
      List<String> names = new ArrayList<>();
      for (Slot slot : slots) {
        put(disk, slot);
        slot.parts.forEach(part -> names.add((slot.isVolume ? "LVM2: " : "") + part.name()));
      }
      System.out.println(table + " of " + bytes / MIB + " MiB: " + names);
      try {
        List<FreeRange> free = expected.check(disk);
        Garbage.write(disk.file(), free, MOST_OVERWRITTEN, random);
        disk.takeBack();
        for (Slot slot : slots) {
          for (GeneratedPart part : slot.parts) {
            part.intact().run();
          }
        }
        assertThat(expected.check(disk)).isEqualTo(free);
      } catch (AssertionError e) {
        throw new AssertionError(table + ": " + names + ": " + e.getMessage(), e);
      } finally {
        Campaign.remove(folder);
      }
    }

    private void put(DiskImage disk, Slot slot) throws IOException {
      if (!slot.isVolume) {
        GeneratedPart part = slot.parts.get(0);
        expected.expect(disk.add(slot.start, part.file()), part.free());
        return;
      }
      Map<String, Path> files = new TreeMap<>();
      for (int i = 0; i < slot.parts.size(); i++) {
        files.put("v" + i, slot.parts.get(i).file());
      }
      Map<String, List<Piece>> pieces =
          disk.addVolumes(slot.start, slot.length, volumes(slot), files);
      for (int i = 0; i < slot.parts.size(); i++) {
        List<Piece> own = pieces.get("v" + i);
        assertThat(own.stream().mapToLong(Piece::length).sum())
            .isGreaterThanOrEqualTo(slot.parts.get(i).size());
        expected.expect(own, slot.parts.get(i).free());
      }
    }
  }
}
