package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.DiskImage.Piece;
import io.cephcsi.driver.testing.FileSystemImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Disks of partitions and logical volumes of the real tools: free ranges against those of each file
 * system's own tool, what overwriting them does, and what damage of the tables does. Needs root.
 */
class DiskIT extends ImageCase {
  private static final long MIB = 1 << 20;
  private static final String LVM =
      """
      pvcreate -q $PV %s; vgcreate -q -s 1m vg $PV
      lvcreate -n first -L 40M vg; lvcreate -n data -L 340M vg; lvremove vg/first
      lvcreate -n root -L 100M vg
      """;

  private final FreeOfDisk expected = new FreeOfDisk();
  private final List<FileSystemImage> files = new ArrayList<>();
  private final Random random = new Random(Campaign.SEED);

  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.ext4", "dumpe2fs", "mkfs.xfs", "xfs_db", "mkfs.fat", "mcopy", "mkswap");
    Shell.require("sgdisk", "parted", "lvcreate", "mount");
    NtfsSample.needsTools();
  }

  private FileSystemImage files(String type, long megabytes) {
    FileSystemImage made = FileSystemImage.make(directory, type, megabytes * MIB);
    made.fillAndEmpty(megabytes * MIB);
    files.add(made);
    return made;
  }

  private static List<FreeRange> freeOf(FileSystemImage files, boolean xfs) {
    String file = files.file().toString();
    return xfs ? Ranges.ofXfsDb(file) : Ranges.ofDumpe2fs(file);
  }

  private void addVolumes(DiskImage disk, long start, long megabytes, String options) {
    FileSystemImage data = files("xfs", 320);
    FileSystemImage root = files("ext4", 96);
    Map<String, List<Piece>> volumes =
        disk.addVolumes(
            start * MIB,
            megabytes * MIB,
            LVM.formatted(options),
            Map.of("data", data.file(), "root", root.file()));
    assertThat(volumes).containsOnlyKeys("data", "root");
    assertThat(volumes.get("root")).as("pieces").hasSize(2);
    expected.expect(volumes.get("data"), freeOf(data, true));
    expected.expect(volumes.get("root"), freeOf(root, false));
  }

  /** Overwrites what is free; all files are as before. */
  private void overwrite(DiskImage disk, List<FreeRange> free) throws IOException {
    List<String> before = files.stream().map(FileSystemImage::checksums).toList();
    Garbage.write(disk.file(), free, 4 << 20, random);
    disk.takeBack();
    for (int i = 0; i < files.size(); i++) {
      files.get(i).check();
      assertThat(files.get(i).checksums()).isNotEmpty().isEqualTo(before.get(i));
    }
  }

  @Test
  void listsWhatTheToolsListOnADiskWithAGuidTableAndLogicalVolumes() throws IOException {
    Path fat = directory.resolve("fat");
    DosSample efi = DosSample.of("mkfs.fat -F 32 -s 1", 40 << 10);
    efi.make(fat, directory, random);
    Path swap = directory.resolve("swap");
    DosSample.of("mkswap", 30 << 10).make(swap, directory, random);
    Path ntfs = directory.resolve("ntfs");
    NtfsSample.of("-c 4096", 60 << 10, 60).make(ntfs, mountPoint, random);
    FileSystemImage ext4 = files("ext4", 120);
    DiskImage disk =
        DiskImage.make(
            directory,
            1000 * MIB,
            """
            sgdisk -n 1:1M:+40M -n 2:41M:+31M -n 3:73M:+120M -n 4:200M:+470M -n 9:700M:+60M \
              -n 10:770M:+10M -n 11:780M:+10M $DISK >/dev/null
            """);
    expected.expect(disk.add(MIB, fat), DosTools.ofFat(fat.toString()));
    expected.expect(disk.add(41 * MIB, swap), List.of(new FreeRange(4096, 30 * MIB - 4096)));
    expected.expect(disk.add(73 * MIB, ext4.file()), freeOf(ext4, false));
    expected.expect(disk.add(700 * MIB, ntfs), NtfsSample.free(ntfs));
    addVolumes(disk, 200, 470, "--pvmetadatacopies 2");
    efi.extract(fat, directory, directory.resolve("before"));
    List<String> ofNtfs = NtfsSample.contents(ntfs, mountPoint);

    List<FreeRange> free = expected.check(disk);
    neverListsUsedSpaceOfDamagedTables(disk, 200, free);
    overwrite(disk, free);
    DosTools.check(FileSystemKind.FAT, fat);
    efi.extract(fat, directory, directory.resolve("after"));
    Shell.run("diff", "-r", directory + "/before", directory + "/after");
    NtfsSample.check(ntfs);
    assertThat(NtfsSample.contents(ntfs, mountPoint)).isEqualTo(ofNtfs);
    assertThat(expected.check(disk)).isEqualTo(free);
  }

  @Test
  void listsWhatTheToolsListOnADiskWithLogicalPartitions() throws IOException {
    FileSystemImage first = files("ext4", 60);
    FileSystemImage xfs = files("xfs", 320);
    DiskImage disk =
        DiskImage.make(
            directory,
            1000 * MIB,
            """
            parted -s $DISK unit MiB mklabel msdos mkpart primary 1 61 mkpart extended 70 999 \
              mkpart logical 71 100 mkpart logical 101 421 mkpart logical 430 900 \
              >/dev/null 2>&1
            parted -s $DISK unit MiB rm 5 mkpart logical 72 90 >/dev/null 2>&1
            """);
    expected.expect(disk.add(MIB, first.file()), freeOf(first, false));
    expected.expect(disk.add(101 * MIB, xfs.file()), freeOf(xfs, true));
    addVolumes(disk, 430, 470, "");
    List<FreeRange> free = expected.check(disk);
    neverListsUsedSpaceOfDamagedTables(disk, 430, free);
    overwrite(disk, free);
  }

  @Test
  void listsWhatTheToolsListOnADiskThatIsAPhysicalVolume() throws IOException {
    DiskImage disk = DiskImage.make(directory, 475 * MIB, "true");
    addVolumes(disk, 0, 475, "--metadatasize 3m");
    overwrite(disk, expected.check(disk));
  }

  /** Damages tables, chains and LVM2's metadata, and what is read of file systems. */
  private void neverListsUsedSpaceOfDamagedTables(
      DiskImage disk, long volumes, List<FreeRange> free) throws IOException {
    Verdicts ofTables = new Verdicts();
    Verdicts ofAll = new Verdicts();
    try (ImageFile file = new ImageFile(disk.file())) {
      FileSystems.survey(file);
      List<ImageFile.Extent> small =
          file.reads().stream()
              .filter(read -> read.length() > 0 && read.length() <= 20 << 10)
              .toList();
      List<ImageFile.Extent> tables =
          new ArrayList<>(
              List.of(
                  new ImageFile.Extent(446, 66),
                  new ImageFile.Extent(512, 92),
                  new ImageFile.Extent(volumes * MIB + 512, 512)));
      // The label, both headers and texts; records of logical partitions; a GPT's entries and copy.
      small.stream()
          .filter(
              read ->
                  isOfVolumes(read, volumes)
                      || (read.length() == 512
                          && (read.offset() % MIB == 0 || read.offset() > file.size() - 17408)))
          .forEach(tables::add);
      small.stream().filter(read -> read.length() == 16 << 10).limit(2).forEach(tables::add);
      for (int i = 0; i < (Campaign.full() ? 1000 : 40); i++) {
        ofTables.judge(new Mutant(file).damageBit(tables, random), free);
        ofAll.judge(new Mutant(file).damage(i % 2 == 0 ? tables : small, random), free);
      }
    }
    System.out.println("damaged tables: " + ofTables + ", all: " + ofAll);
  }

  private static boolean isOfVolumes(ImageFile.Extent read, long volumes) {
    return read.offset() >= volumes * MIB && read.offset() < (volumes + 1) * MIB;
  }

  @Test
  void refusesAGroupThatIsExportedReadOnlyOrNotToBeActivated() throws IOException {
    for (String change :
        List.of(
            "vgchange -q --driverloaded n -x n vg; vgexport -q --driverloaded n vg",
            "lvchange -q --driverloaded n -p r vg/root",
            "lvchange -q --driverloaded n --setactivationskip y vg/root")) {
      DiskImage disk = DiskImage.make(directory, 100 * MIB, "true");
      disk.addVolumes(
          0,
          100 * MIB,
          "pvcreate -q $PV; vgcreate -q vg $PV; lvcreate -n root -L 60M vg; ("
              + change
              + ") >/dev/null 2>&1",
          Map.of());
      try (ImageFile file = new ImageFile(disk.file())) {
        assertThat(FileSystems.inspect(file))
            .as(change)
            .isInstanceOfSatisfying(
                Inspection.Refused.class,
                refused ->
                    assertThat(refused.reason()).isEqualTo(RefusalReason.UNSUPPORTED_FEATURE));
      }
    }
  }
}
