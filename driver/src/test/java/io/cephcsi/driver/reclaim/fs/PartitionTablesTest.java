package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Hand-made partition tables: what is read of them, what is refused, what damage does. */
class PartitionTablesTest {
  private static final byte[] FAT = TinyDos.fat();
  private static final byte[] EXFAT = TinyDos.exfat();
  private static final byte[] SWAP = TinyDos.swap();
  private static final byte[] NOISE = noise();
  private static final byte[] EXT = new TinyExt(new Random(3)).bytes;
  private static final byte[][] FOUR = {FAT, new byte[100 * TinyDisk.SECTOR], SWAP, EXFAT};

  private static byte[] noise() {
    byte[] noise = new byte[100 * TinyDisk.SECTOR];
    new Random(5).nextBytes(noise);
    noise[510] = 0;
    return noise;
  }

  private static byte[] luks() {
    byte[] luks = new byte[50 * TinyDisk.SECTOR];
    System.arraycopy("LUKS\u00ba\u00be".getBytes(StandardCharsets.ISO_8859_1), 0, luks, 0, 6);
    return luks;
  }

  private static Inspection.Clean clean(Survey survey) {
    assertThat(survey.inspection()).isInstanceOf(Inspection.Clean.class);
    return (Inspection.Clean) survey.inspection();
  }

  private static void assertRefused(Survey survey, FileSystemKind kind, RefusalReason reason) {
    assertThat(survey.inspection())
        .isInstanceOfSatisfying(
            Inspection.Refused.class,
            refused -> {
              assertThat(refused.reason()).as(refused.detail()).isEqualTo(reason);
              assertThat(refused.kind()).isEqualTo(kind);
            });
    assertThat(survey.content().freeBytes()).isZero();
  }

  @Test
  void listsTheFreeSpaceOfEachPartitionOfGuidTables() throws IOException {
    TinyDisk disk = TinyDisk.guid(FOUR);
    Survey survey = disk.survey();
    assertThat(Ranges.of(clean(survey))).isEqualTo(disk.free(FOUR)).hasSizeGreaterThan(3);
    assertThat(survey.content().kind()).isEqualTo(FileSystemKind.GPT);
    assertParts(survey.content(), disk, "partition 1", "partition 2", "partition 3", "partition 4");
  }

  @Test
  void listsTheFreeSpaceOfPrimaryAndLogicalPartitions() throws IOException {
    TinyDisk disk = TinyDisk.mbr(2, FOUR);
    Survey survey = disk.survey();
    assertThat(Ranges.of(clean(survey))).isEqualTo(disk.free(FOUR)).hasSizeGreaterThan(3);
    assertThat(survey.content().kind()).isEqualTo(FileSystemKind.MBR);
    assertParts(survey.content(), disk, "partition 1", "partition 2", "partition 5", "partition 6");
  }

  private static void assertParts(ContentNode content, TinyDisk disk, String... names) {
    assertThat(content.parts()).extracting(ContentNode::name).containsExactly(names);
    assertThat(content.parts())
        .extracting(ContentNode::kind)
        .containsExactly(
            FileSystemKind.FAT, FileSystemKind.BLANK, FileSystemKind.SWAP, FileSystemKind.EXFAT);
    for (int i = 0; i < FOUR.length; i++) {
      ContentNode part = content.parts().get(i);
      assertThat(part.offset()).isEqualTo((long) disk.starts.get(i) * TinyDisk.SECTOR);
      assertThat(part.size()).isEqualTo(FOUR[i].length);
      assertThat(part.freeBytes() > 0).isEqualTo(i != 1);
      assertThat(part.reason().isPresent()).isEqualTo(i == 1);
    }
    assertThat(content.freeBytes())
        .isEqualTo(content.parts().stream().mapToLong(ContentNode::freeBytes).sum());
    assertThat(content.understood()).isEqualTo("FAT, swap space, exFAT");
  }

  @Test
  void theFirstLogicalPartitionMayBeGone() throws IOException {
    TinyDisk disk = TinyDisk.mbr(1, FOUR);
    int at = TinyDisk.record(disk.starts.get(1) - 2, 0);
    disk.disk().put(at + 4, (byte) 0).putLong(at + 8, 0);
    Survey survey = disk.survey();
    assertThat(Ranges.of(clean(survey))).isEqualTo(disk.free(FOUR));
    assertThat(survey.content().parts()).hasSize(3);
  }

  @Test
  void aDiskThatGrewIsReadByTheCopyAtItsOldEnd() throws IOException {
    TinyDisk disk = TinyDisk.guid(FOUR);
    byte[] grown = disk.resized(disk.bytes.length / TinyDisk.SECTOR + 100);
    assertThat(Ranges.of(clean(FileSystems.survey(new MemoryImage(grown)))))
        .isEqualTo(disk.free(FOUR));
    System.arraycopy(disk.bytes, disk.secondHeader(), grown, grown.length - 512, TinyDisk.SECTOR);
    assertRefused(
        FileSystems.survey(new MemoryImage(grown)),
        FileSystemKind.GPT,
        RefusalReason.UNSUPPORTED_PARTITIONS);
  }

  @Test
  void theLargestPartSaysWhyNothingCanBeTrimmed() throws IOException {
    Survey survey = TinyDisk.guid(new byte[4096], luks(), new byte[512]).survey();
    assertRefused(survey, FileSystemKind.LUKS, RefusalReason.ENCRYPTED);
    assertThat(((Inspection.Refused) survey.inspection()).detail()).startsWith("partition 2: ");
    assertThat(survey.content().parts())
        .extracting(ContentNode::kind)
        .containsExactly(FileSystemKind.BLANK, FileSystemKind.LUKS, FileSystemKind.BLANK);
  }

  @Test
  void anEncryptedPartitionKeepsNoFileSystemFromBeingTrimmedThatShowsWhetherItIsMounted()
      throws IOException {
    Survey survey = TinyDisk.mbr(1, luks(), EXT).survey();
    assertThat(clean(survey).freeBytes()).isPositive();
    assertThat(survey.content().parts().get(0).reason()).contains(RefusalReason.ENCRYPTED);
  }

  @Test
  void aTableInAPartitionIsRefused() throws IOException {
    byte[] inner = TinyDisk.guid(FAT).bytes;
    Survey survey = TinyDisk.guid(inner, EXT).survey();
    assertThat(survey.content().parts().get(0).reason())
        .contains(RefusalReason.UNSUPPORTED_PARTITIONS);
    assertThat(clean(survey).kind()).isEqualTo(FileSystemKind.EXT2);
    assertRefused(
        TinyDisk.guid(inner).survey(), FileSystemKind.GPT, RefusalReason.UNSUPPORTED_PARTITIONS);
  }

  @Test
  void aHibernatedSystemKeepsAllPartitionsAsTheyAre() throws IOException {
    byte[] hibernated = SWAP.clone();
    System.arraycopy("S1SUSPEND\0".getBytes(StandardCharsets.US_ASCII), 0, hibernated, 4086, 10);
    Survey survey = TinyDisk.guid(FAT, hibernated, EXFAT).survey();
    assertRefused(survey, FileSystemKind.SWAP, RefusalReason.IN_USE);
    assertThat(survey.content().parts())
        .allSatisfy(part -> assertThat(part.reason()).contains(RefusalReason.IN_USE));
  }

  @Test
  void aWindowsThatWasNotShutDownKeepsAllPartitionsAsTheyAre() throws IOException {
    byte[] ntfs = new TinyNtfs().bytes;
    TinyDisk disk = TinyDisk.guid(ntfs, FAT);
    assertThat(Ranges.of(clean(disk.survey()))).isEqualTo(disk.free(ntfs, FAT));
    disk.disk()
        .put(
            disk.starts.get(0) * TinyDisk.SECTOR + TinyNtfs.LOG * TinyNtfs.CLUSTER,
            NtfsLayout.restartPages(2, 0, 65535, 2),
            0,
            8192);
    assertRefused(disk.survey(), FileSystemKind.NTFS, RefusalReason.NOT_CLEAN);
  }

  @Test
  void aPartitionThatIsReadOnlyIsLeftAlone() throws IOException {
    TinyDisk disk = TinyDisk.guid(FAT, EXT);
    disk.disk().putLong(2 * TinyDisk.SECTOR + 48, 1L << 60);
    Survey survey = disk.copyEntries().survey();
    assertThat(clean(survey).kind()).isEqualTo(FileSystemKind.EXT2);
    ContentNode part = survey.content().parts().get(0);
    assertThat(part.kind()).isEqualTo(FileSystemKind.FAT);
    assertThat(part.reason()).contains(RefusalReason.UNSUPPORTED_FEATURE);
    TinyDisk volume = TinyDisk.guid(Arrays.copyOf(new TinyLvm().bytes, 1 << 20), EXT);
    volume.disk().putLong(2 * TinyDisk.SECTOR + 48, 1L << 60);
    assertThat(Ranges.of(clean(volume.copyEntries().survey())))
        .isEqualTo(volume.free(new byte[0], EXT));
  }

  @Test
  void hashesOfVerityKeepAllPartitionsAsTheyAre() throws IOException {
    byte[] hashes = new byte[8192];
    System.arraycopy("verity\0\0".getBytes(StandardCharsets.US_ASCII), 0, hashes, 0, 8);
    assertRefused(
        TinyDisk.guid(FAT, hashes).survey(),
        FileSystemKind.VERITY,
        RefusalReason.UNSUPPORTED_CONTENT);
  }

  @TestFactory
  Stream<DynamicTest> refusesGuidTablesThatAreNotCertain() {
    int entries = 2 * TinyDisk.SECTOR;
    int header = TinyDisk.SECTOR;
    return Stream.of(
        guid("an overlap", disk -> disk.entry(1, disk.starts.get(0) + 1, 5)),
        guid("the same twice", disk -> disk.entry(9, disk.starts.get(0), 5)),
        guid("a partition before the usable area", disk -> disk.entry(7, 33, 1)),
        guid("a partition behind it", d -> d.entry(7, d.bytes.length / TinyDisk.SECTOR - 33, 1)),
        guid("a partition beyond the device", disk -> disk.entry(7, 1L << 40, 1)),
        guid("a partition of negative place", disk -> disk.entry(7, -5, 1)),
        guid("a partition that ends before it starts", disk -> disk.entry(0, 100, 0)),
        guid("no partition", disk -> disk.disk().put(entries, new byte[4 * TinyDisk.ENTRY])),
        guidUnsummed("a wrong entry", disk -> disk.disk().put(entries + 60, (byte) 1)),
        guidUnsummed("a wrong header", disk -> disk.disk().put(header + 60, (byte) 1)),
        guidUnsummed("a wrong copy", d -> d.disk().put(d.secondHeader() + 60, (byte) 1)),
        guidUnsummed("no copy", d -> d.disk().put(d.secondHeader(), new byte[512])),
        guidSummed("an older copy", disk -> disk.entry(6, 36, 1)),
        guidSummed("another disk's copy", d -> d.disk().put(d.secondHeader() + 56, (byte) 1)),
        guidSummed("other bounds", d -> d.disk().put(d.secondHeader() + 40, (byte) 35)),
        guidSummed("a copy that does not know it", d -> d.disk().put(d.secondHeader() + 24, b(9))),
        guidSummed("a copy of another header", d -> d.disk().put(d.secondHeader() + 32, b(9))),
        guidSummed("entries in the first partition", d -> d.disk().put(header + 72, b(60))),
        guidSummed("entries in the last partition", d -> d.disk().put(d.secondHeader() + 72, b(9))),
        guidSummed("entries before the header", disk -> disk.disk().put(header + 72, b(0))),
        guidSummed("entries of 4 GiB", disk -> disk.disk().putInt(header + 80, -1)),
        guidSummed("entries of no size", disk -> disk.disk().putInt(header + 84, 0)),
        guidSummed("entries of an odd size", disk -> disk.disk().putInt(header + 84, 130)),
        guidSummed("the next revision", disk -> disk.disk().putInt(header + 8, 0x10001)),
        guidSummed("a header of 4 KiB", disk -> disk.disk().putInt(header + 12, 4096)),
        guidSummed("an end beyond the device", d -> d.disk().putLong(header + 32, 1L << 50)),
        guidSummed("an end of negative place", d -> d.disk().putLong(header + 32, -1)),
        guidSummed("a hybrid MBR", disk -> disk.record(0, 1, 0x83, 50, 50)),
        guidSummed("an MBR that protects nothing", disk -> disk.record(0, 0, 0x83, 1, 50)),
        guidSummed("no MBR", disk -> disk.disk().putShort(510, (short) 0)));
  }

  private static byte b(int value) {
    return (byte) value;
  }

  private static DynamicTest guid(String name, Consumer<TinyDisk> change) {
    return refusal(name, () -> TinyDisk.guid(FOUR), change.andThen(TinyDisk::copyEntries));
  }

  private static DynamicTest guidSummed(String name, Consumer<TinyDisk> change) {
    return refusal(name, () -> TinyDisk.guid(FOUR), change.andThen(TinyDisk::sum));
  }

  private static DynamicTest guidUnsummed(String name, Consumer<TinyDisk> change) {
    return refusal(name, () -> TinyDisk.guid(FOUR), change);
  }

  private static DynamicTest refusal(
      String name, Supplier<TinyDisk> from, Consumer<TinyDisk> change) {
    return DynamicTest.dynamicTest(
        name,
        () -> {
          TinyDisk disk = from.get();
          change.accept(disk);
          Inspection inspection = disk.survey().inspection();
          assertThat(inspection)
              .isInstanceOfSatisfying(
                  Inspection.Refused.class,
                  refused ->
                      assertThat(refused.reason())
                          .as(refused.detail())
                          .isEqualTo(RefusalReason.UNSUPPORTED_PARTITIONS));
        });
  }

  @Test
  void refusesGuidTablesOfTooManyPartitions() throws IOException {
    byte[][] many = new byte[128][TinyDisk.SECTOR];
    many[0] = SWAP;
    TinyDisk disk = TinyDisk.guid(many);
    assertThat(clean(disk.survey()).freeBytes()).isPositive();
    assertThat(disk.survey().content().parts()).hasSize(128);
  }

  @TestFactory
  Stream<DynamicTest> refusesMasterBootRecordsThatAreNotCertain() {
    int last = TinyDisk.mbr(2, FOUR).bytes.length / TinyDisk.SECTOR;
    return Stream.of(
        mbr("an overlap", disk -> disk.record(0, 1, 0x83, disk.starts.get(0) + 3, 9)),
        mbr("a partition over the table", disk -> disk.record(0, 1, 0x83, 0, 3)),
        mbr("a partition beyond the device", disk -> disk.record(0, 3, 0x83, last - 1, 2)),
        mbr("a partition of 2 TiB", disk -> disk.record(0, 1, 0x83, disk.starts.get(1), -1)),
        mbr("a partition without sectors", d -> d.record(0, 1, 0x83, d.starts.get(1), 0)),
        mbr("a record without type", disk -> disk.record(0, 3, 0, 5, 5)),
        mbr("a record that is half active", disk -> disk.disk().put(446 + 16, (byte) 3)),
        mbr("two extended partitions", disk -> disk.record(0, 3, 0x05, last - 3, 2)),
        mbr("a hybrid", disk -> disk.record(0, 3, 0xEE, 1, 2)),
        mbr("over the extended", d -> d.record(0, 3, 0x83, d.starts.get(3), 2)),
        mbr("a copy of a GPT", d -> d.disk().putLong((last - 1) * 512, 0x5452415020494645L)),
        mbr("a chain without end", d -> d.record(sector(d, 3), 1, 0x05, next(d), 9)),
        mbr("a chain to itself", d -> d.record(sector(d, 2), 1, 0x05, 0, 9)),
        mbr("a chain out of bounds", d -> d.record(sector(d, 3), 1, 0x05, last, 9)),
        mbr("a chain to a partition", d -> d.record(sector(d, 2), 1, 0x83, next(d), 9)),
        mbr("a chain to no record", d -> d.disk().putShort(sector(d, 3) * 512 + 510, (short) 0)),
        mbr("a chain into a partition", d -> d.record(sector(d, 2), 1, 0x05, 20, 9)),
        mbr("a third record", d -> d.record(sector(d, 2), 2, 0x83, 2, 3)),
        mbr("a logical over its record", d -> d.record(sector(d, 2), 0, 0x83, 0, 3)),
        mbr("a logical over the next", d -> d.record(sector(d, 2), 0, 0x83, 2, next(d) + 5)),
        mbr("a logical out of bounds", d -> d.record(sector(d, 3), 0, 0x83, 2, last)),
        mbr("a logical in the first", d -> d.record(sector(d, 3), 0, 0x83, -200, 9)),
        mbr("a logical extended", d -> d.record(sector(d, 3), 0, 0x05, 2, 9)),
        mbr("an empty record in the chain", d -> d.record(sector(d, 3), 0, 0, 0, 0)),
        mbr("an extended of nothing", d -> d.record(0, 2, 0x0F, sector(d, 2), 0)));
  }

  private static int sector(TinyDisk disk, int index) {
    return disk.starts.get(index) - 2;
  }

  private static int next(TinyDisk disk) {
    return sector(disk, 3) - sector(disk, 2);
  }

  private static DynamicTest mbr(String name, Consumer<TinyDisk> change) {
    return refusal(name, () -> TinyDisk.mbr(2, FOUR), change);
  }

  @Test
  void readsSixtyFourLogicalPartitionsAndRefusesMore() throws IOException {
    byte[][] most = new byte[65][TinyDisk.SECTOR];
    most[0] = SWAP;
    assertThat(TinyDisk.mbr(1, most).survey().content().parts()).hasSize(65);
    byte[][] more = new byte[66][TinyDisk.SECTOR];
    more[0] = SWAP;
    assertRefused(
        TinyDisk.mbr(1, more).survey(), FileSystemKind.MBR, RefusalReason.UNSUPPORTED_PARTITIONS);
  }

  @Test
  void neverListsUsedSpaceWithBitsOfTheTableChanged() throws IOException {
    TinyDisk guid = TinyDisk.guid(FOUR);
    TinyDisk mbr = TinyDisk.mbr(1, FOUR);
    List<Integer> sectors = new ArrayList<>(List.of(0));
    for (int i = 1; i < FOUR.length; i++) {
      sectors.add(mbr.starts.get(i) - 2);
    }
    Verdicts verdicts = new Verdicts();
    List<FreeRange> freeOfGuid = guid.free(FOUR);
    List<FreeRange> freeOfMbr = mbr.free(FOUR);
    Tries.times(
        4000,
        values -> {
          boolean gpt = values.either();
          Mutant mutant = new Mutant(new MemoryImage(gpt ? guid.bytes : mbr.bytes));
          for (int flips = values.between(1, 3); flips > 0; flips--) {
            int at =
                gpt
                    ? values.between(0, 2 * 34 * 512 - 1)
                    : values.oneOf(sectors) * 512 + 446 + values.between(0, 65);
            int half = guid.bytes.length - 2 * 34 * 512;
            mutant.flip(gpt && at >= 34 * 512 ? half + at : at, 1 << values.between(0, 7));
          }
          verdicts.judge(mutant, gpt ? freeOfGuid : freeOfMbr);
        });
    System.out.println("bits of partition tables: " + verdicts);
  }

  /** Ext2 that its system did not unmount. */
  private static byte[] mounted() {
    byte[] ext = new TinyExt(new Random(1)).bytes;
    ext[1024 + 0x3A] = 0;
    return ext;
  }

  @Test
  void partsThatDoNotShowWhetherTheyAreMountedAreLeftBesideOneThatIs() throws IOException {
    byte[] clean = new TinyExt(new Random(2)).bytes;
    for (TinyDisk disk :
        List.of(
            TinyDisk.guid(FAT, SWAP, mounted(), EXFAT, clean),
            TinyDisk.mbr(2, FAT, SWAP, mounted(), EXFAT, clean))) {
      Survey survey = disk.survey();
      assertThat(survey.content().parts())
          .extracting(part -> part.reason().orElse(null))
          .containsExactly(
              RefusalReason.NOT_CLEAN,
              RefusalReason.NOT_CLEAN,
              RefusalReason.NOT_CLEAN,
              RefusalReason.NOT_CLEAN,
              null);
      assertThat(clean(survey).kind()).isEqualTo(FileSystemKind.EXT2);
      long start = (long) disk.starts.get(4) * TinyDisk.SECTOR;
      assertThat(Ranges.of(clean(survey))).isNotEmpty().allMatch(range -> range.offset() >= start);
      assertThat(survey.content().freeBytes()).isEqualTo(clean(survey).freeBytes());
    }
    assertRefused(
        TinyDisk.guid(FAT, mounted(), SWAP).survey(), FileSystemKind.EXT2, RefusalReason.NOT_CLEAN);
  }

  private static byte[] with(byte[] start, int at, String text) {
    byte[] bytes = Arrays.copyOf(start, 256 << 10);
    byte[] part = text.getBytes(StandardCharsets.ISO_8859_1);
    System.arraycopy(part, 0, bytes, at, part.length);
    return bytes;
  }

  /** Ext2 that recorded an error while it was mounted. */
  private static byte[] mountedWithErrors() {
    byte[] ext = EXT.clone();
    ext[1024 + 0x3A] = 2;
    return ext;
  }

  /** Ext2 with a feature that is not known. */
  private static byte[] ofTheFuture() {
    byte[] ext = EXT.clone();
    ext[1024 + 0x60] = 0x20;
    return ext;
  }

  @Test
  void partsThatDoNotShowWhetherTheyAreMountedAreLeftBesideOneThatMayBe() throws IOException {
    String thin = TinyLvm.text().replaceFirst("\"striped\"", "\"thin-pool\"");
    assertThat(thin).isNotEqualTo(TinyLvm.text());
    byte[] f2fs = with(new byte[0], 1024, "\u0010 \u00f5\u00f2");
    byte[] bcachefs = with(new byte[0], 4096 + 24, "\u00c6\u0085s\u00f6N\u001aE\u00ca");
    byte[] zfs = with(new byte[0], 16 << 10, "version, name");
    for (byte[] other :
        List.of(
            new TinyLvm(List.of(thin)).bytes,
            f2fs,
            bcachefs,
            zfs,
            mountedWithErrors(),
            ofTheFuture(),
            luks(),
            NOISE)) {
      TinyDisk disk = TinyDisk.guid(SWAP, Arrays.copyOf(other, other.length / 512 * 512), EXT, FAT);
      Survey survey = disk.survey();
      assertThat(survey.content().parts().get(1).reason()).isPresent();
      assertThat(survey.content().parts())
          .extracting(part -> part.reason().isPresent())
          .containsExactly(true, true, false, true);
      assertThat(survey.content().parts().get(0).detail())
          .startsWith("may be in use, as partition 2 ");
      assertThat(Ranges.of(clean(survey)))
          .as(survey.content().toString())
          .isEqualTo(disk.free(new byte[0], new byte[0], EXT));
      assertThat(
              TinyDisk.guid(SWAP, Arrays.copyOf(other, other.length / 512 * 512))
                  .survey()
                  .inspection())
          .isInstanceOf(Inspection.Refused.class);
    }
  }

  @Test
  void anErrorThatWasRecordedDoesNotHideThatExtIsMounted() throws IOException {
    assertRefused(
        FileSystems.survey(new MemoryImage(mountedWithErrors())),
        FileSystemKind.EXT2,
        RefusalReason.NOT_CLEAN);
  }

  @Test
  void aPartitionForABootLoaderKeepsNoOtherFromBeingTrimmed() throws IOException {
    for (String guid :
        List.of(
            "21686148-6449-6e6f-744e-656564454649",
            "9e1a2d38-c612-4316-aa26-8b49521e5a8b",
            "e3c9e316-0b5c-4db8-817d-f92df00215ae")) {
      Survey survey = typed(guid, NOISE, SWAP).survey();
      assertThat(survey.content().understood()).as(guid).isEqualTo("ext2, swap space");
      assertThat(survey.content().parts().get(1).kind()).isEqualTo(FileSystemKind.BOOT);
      assertThat(typed(guid, FAT, SWAP).survey().content().understood()).isEqualTo("ext2");
    }
  }

  @Test
  void aSwapAreaAloneIsToldFromOneInAPartition() throws IOException {
    assertThat(FileSystems.survey(new MemoryImage(SWAP)).content().isSwapAlone()).isTrue();
    assertThat(TinyDisk.guid(SWAP, FAT).survey().content().isSwapAlone()).isFalse();
    assertThat(FileSystems.survey(new MemoryImage(FAT)).content().isSwapAlone()).isFalse();
  }

  @Test
  void partitionsThatAreNoPlainOnesByTheirTypeAreLeftAlone() throws IOException {
    for (int type : List.of(0x84, 0xA5, 0xA6, 0xA9, 0xAF, 0xBF, 0xE7, 0xFB, 0xFD)) {
      TinyDisk disk = TinyDisk.mbr(1, EXT, EXFAT, EXT);
      disk.disk().put(TinyDisk.record(disk.starts.get(1) - 2, 0) + 4, (byte) type);
      Survey survey = disk.survey();
      assertThat(survey.content().parts().get(1).reason())
          .as("type %s", type)
          .contains(RefusalReason.UNSUPPORTED_FEATURE);
      assertThat(Ranges.of(clean(survey))).isEqualTo(disk.free(EXT, new byte[0], EXT));
    }
    TinyDisk disk = TinyDisk.mbr(2, FAT, EXFAT, SWAP);
    disk.disk().put(TinyDisk.record(0, 0) + 4, (byte) 0x42);
    assertRefused(disk.survey(), FileSystemKind.MBR, RefusalReason.UNSUPPORTED_PARTITIONS);
  }

  private static TinyDisk typed(String guid, byte[]... contents) {
    List<byte[]> all = new ArrayList<>(List.of(contents));
    all.add(0, EXT);
    TinyDisk disk = TinyDisk.guid(all.toArray(byte[][]::new));
    UUID type = UUID.fromString(guid);
    long first = type.getMostSignificantBits();
    int at = 2 * TinyDisk.SECTOR + TinyDisk.ENTRY;
    disk.disk().putInt(at, (int) (first >>> 32)).putShort(at + 4, (short) (first >>> 16));
    disk.disk().putShort(at + 6, (short) first);
    disk.disk().putLong(at + 8, Long.reverseBytes(type.getLeastSignificantBits()));
    return disk.copyEntries();
  }

  @Test
  void guidsSayTheSame() throws IOException {
    for (String guid :
        List.of(
            "a19d880f-05fc-4d3b-a006-743f0f84911e",
            "e75caf8f-f680-4cee-afa3-b001e56efc2d",
            "aa31e02a-400f-11db-9590-000c2911d1b8",
            "516e7cb6-6ecf-11d6-8ff8-00022d09712b",
            "516e7cba-6ecf-11d6-8ff8-00022d09712b",
            "6a898cc3-1dd2-11b2-99a6-080020736631",
            "48465300-0000-11aa-aa11-00306543ecac",
            "7c3457ef-0000-11aa-aa11-00306543ecac",
            "824cc7a0-36a8-11e3-890a-952519ad3f61",
            "4fbd7e29-9d25-41b8-afd0-062c0ceff05d",
            "7ffec5c9-2d00-49b7-8941-3ea10a5586b7")) {
      Survey survey = typed(guid, EXFAT).survey();
      assertThat(survey.content().parts().get(1).reason())
          .as(guid)
          .contains(RefusalReason.UNSUPPORTED_FEATURE);
      assertThat(survey.content().understood()).isEqualTo("ext2");
    }
    for (String guid :
        List.of("5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", "af9b60a0-1431-4f62-bc68-3311714a69ad")) {
      assertRefused(
          typed(guid, EXFAT).survey(), FileSystemKind.GPT, RefusalReason.UNSUPPORTED_PARTITIONS);
    }
    for (String guid :
        List.of(
            "0fc63daf-8483-4772-8e79-3d69d8477de4",
            "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
            "c12a7328-f81f-11d2-ba4b-00a0c93ec93b",
            "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7",
            "e6d6d379-f507-44c2-a23c-238f2a3df928",
            "4f68bce3-e8cd-4db1-96e7-fbcaf984b709",
            "933ac7e1-2eb4-4f13-b844-0e14e2aef915")) {
      assertThat(typed(guid, EXFAT).survey().content().understood())
          .as(guid)
          .isEqualTo("ext2, exFAT");
    }
  }
}
