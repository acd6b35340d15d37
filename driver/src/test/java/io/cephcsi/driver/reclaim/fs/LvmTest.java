package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Hand-made physical volumes of LVM2: what is read of them, what is refused, what damage does. */
class LvmTest {
  private static final RefusalReason WRONG = RefusalReason.INCONSISTENT;
  private static final RefusalReason UNKNOWN = RefusalReason.UNSUPPORTED_FEATURE;
  private static final int LABEL = 512;

  private static List<FreeRange> clean(Survey survey) {
    assertThat(survey.inspection()).isInstanceOf(Inspection.Clean.class);
    return Ranges.of((Inspection.Clean) survey.inspection());
  }

  private static void assertRefused(Survey survey, RefusalReason reason) {
    assertThat(survey.inspection())
        .isInstanceOfSatisfying(
            Inspection.Refused.class,
            refused -> assertThat(refused.reason()).as(refused.detail()).isEqualTo(reason));
    assertThat(survey.content().kind()).isEqualTo(FileSystemKind.LVM2);
    assertThat(survey.content().freeBytes()).isZero();
  }

  @Test
  void listsWhatEachLogicalVolumeHasFreeAndNoOtherExtent() throws IOException {
    TinyLvm lvm = new TinyLvm();
    Survey survey = lvm.survey();
    assertThat(clean(survey)).isEqualTo(lvm.free).hasSizeGreaterThan(5);
    ContentNode root = survey.content();
    assertThat(root.parts())
        .extracting(ContentNode::name)
        .containsExactly("vg0/fat", "vg0/exfat", "vg0/swap");
    assertThat(root.parts())
        .extracting(ContentNode::offset)
        .containsExactly(at(2), at(70), at(100));
    assertThat(root.freeBytes()).isEqualTo(lvm.free.stream().mapToLong(FreeRange::length).sum());
  }

  private static long at(int extent) {
    return TinyLvm.DATA + (long) extent * TinyLvm.EXTENT;
  }

  @Test
  void listsThemInPartitions() throws IOException {
    TinyLvm lvm = new TinyLvm();
    byte[] fat = TinyDos.fat();
    byte[] volume = Arrays.copyOf(lvm.bytes, lvm.bytes.length + 512);
    for (TinyDisk disk :
        List.of(
            TinyDisk.guid(fat, volume),
            TinyDisk.mbr(2, fat, volume),
            TinyDisk.mbr(1, fat, volume))) {
      long start = disk.starts.get(1) * 512L;
      List<FreeRange> expected = new ArrayList<>(disk.free(fat));
      lvm.free.forEach(
          range -> expected.add(new FreeRange(start + range.offset(), range.length())));
      Survey survey = disk.survey();
      assertThat(clean(survey)).isEqualTo(expected);
      assertThat(survey.content().parts().get(1).parts().get(1).offset()).isEqualTo(start + at(70));
      assertThat(survey.content().understood()).isEqualTo("FAT, exFAT, swap space");
    }
  }

  @Test
  void severalPhysicalVolumesOnADiskAreRefused() throws IOException {
    byte[] volume = new TinyLvm().bytes;
    byte[] ext = new TinyExt(new Random(1)).bytes;
    TinyDisk disk = TinyDisk.guid(volume, ext, volume);
    Survey survey = disk.survey();
    assertThat(clean(survey)).isEqualTo(disk.free(new byte[0], ext));
    assertThat(survey.content().parts().get(0).reason()).contains(UNKNOWN);
    assertThat(survey.content().parts().get(2).reason()).contains(UNKNOWN);
  }

  @Test
  void aTableOrAnotherPhysicalVolumeInALogicalVolumeIsRefused() throws IOException {
    for (byte[] inner : List.of(TinyDisk.mbr(1, new byte[512]).bytes, label())) {
      TinyLvm lvm = new TinyLvm();
      System.arraycopy(inner, 0, lvm.bytes, (int) at(2), Math.min(inner.length, 2048));
      Survey survey = lvm.survey();
      assertThat(survey.content().parts().get(0).reason()).isPresent();
      // The other volumes do not show whether they are mounted.
      assertThat(survey.inspection()).isInstanceOf(Inspection.Refused.class);
      assertThat(survey.content().freeBytes()).isZero();
    }
  }

  private static byte[] label() throws IOException {
    return Arrays.copyOf(new TinyLvm().bytes, 2048);
  }

  @Test
  void readsATextThatGoesRoundTheRing() throws IOException {
    int length = TinyLvm.text().length();
    for (int behind : List.of(1, 100, length, length + 1)) {
      TinyLvm lvm = new TinyLvm(TinyLvm.text(), TinyLvm.METADATA_SIZE - behind);
      assertThat(clean(lvm.survey())).isEqualTo(lvm.free);
    }
  }

  @Test
  void twoCopiesOfTheMetadataMustAgree() throws IOException {
    String text = TinyLvm.text();
    TinyLvm same =
        new TinyLvm(List.of(text, text.replace("creation_time = 1", "creation_time = 2")));
    assertThat(clean(same.survey())).isEqualTo(same.free);
    assertRefused(
        new TinyLvm(List.of(text, text.replace("seqno = 7", "seqno = 8"))).survey(), WRONG);
    assertRefused(
        new TinyLvm(List.of(text, text.replace("pv0\", 2\n", "pv0\", 1\n"))).survey(), WRONG);
    TinyLvm damaged = new TinyLvm(List.of(text, text));
    damaged.bytes[TinyLvm.SECOND_METADATA + 600] ^= 1;
    assertRefused(damaged.survey(), RefusalReason.BAD_CHECKSUM);
  }

  @TestFactory
  Stream<DynamicTest> refusesWhatTheTextMayNotSay() {
    return Stream.of(
        text("\"striped\"", "\"mirror\"", UNKNOWN),
        text("\"striped\"", "\"thin-pool\"", UNKNOWN),
        text("\"striped\"", "\"snapshot\"", UNKNOWN),
        text("\"striped\"", "\"cache\"", UNKNOWN),
        text("\"striped\"", "\"raid1\"", UNKNOWN),
        text("\"striped\"", "\"striped+X\"", UNKNOWN),
        text(", \"VISIBLE\"", "", UNKNOWN),
        text("\"VISIBLE\"]", "\"VISIBLE\", \"PVMOVE\"]", UNKNOWN),
        text("\"VISIBLE\"]", "\"VISIBLE\", \"LOCKED\"]", UNKNOWN),
        text("[\"READ\", \"WRITE\", \"VISIBLE\"]", "[\"READ\", \"VISIBLE\"]", UNKNOWN),
        text("\"RESIZEABLE\", ", "\"EXPORTED\", ", UNKNOWN),
        text("\"RESIZEABLE\", ", "\"CLUSTERED\", ", UNKNOWN),
        text("[\"RESIZEABLE\", \"READ\", \"WRITE\"]", "[\"RESIZEABLE\", \"READ\"]", UNKNOWN),
        text("\"ALLOCATABLE\"", "\"MISSING\"", UNKNOWN),
        text("flags = []", "flags = [\"X\"]", UNKNOWN),
        text("max_lv = 0", "lock_type = \"sanlock\"", UNKNOWN),
        text("creation_host = \"vm\"\nsegment", "origin = \"x\"\nsegment", UNKNOWN),
        text("pe_count = 150", "pe_count = 150\nba_start = 64", UNKNOWN),
        text("stripe_count = 1", "stripe_count = 1\nreshape_count = 1", UNKNOWN),
        text("logical_volumes", "historical_logical_volumes", UNKNOWN),
        text("\"pv0\", 2\n", "\"pv1\", 2\n", UNKNOWN),
        text("pv0 {", "pv1 {\n}\npv0 {", UNKNOWN),
        text("\"pv0\", 2\n", "\"pv0\", 4\n", WRONG),
        text("\"pv0\", 2\n", "\"pv0\", 120\n", WRONG),
        text("\"pv0\", 2\n", "\"pv0\", -1\n", WRONG),
        text("\"pv0\", 2\n", "2, \"pv0\"\n", WRONG),
        text("\"pv0\", 2\n", "\"pv0\"\n", WRONG),
        text("\"pv0\", 121", "\"pv0\", 119", WRONG),
        text("extent_count = 38", "extent_count = 0", WRONG),
        text("extent_count = 38", "extent_count = 149", WRONG),
        text("extent_count = 38", "extent_count = 4294967296", WRONG),
        text("extent_count = 38", "extent_count = 100000000000000000", WRONG),
        text("extent_count = 40", "extent_count = 41", WRONG),
        text("stripe_size = 16", "stripe_size = 0", WRONG),
        text("stripe_size = 16", "stripe_size = 1", WRONG),
        text("stripe_size = 16", "stripe_size = 24", WRONG),
        text("stripe_size = 16\n", "", WRONG),
        text("stripe_count = 2", "stripe_count = 0", WRONG),
        text("stripe_count = 2", "stripe_count = 1", WRONG),
        text("stripe_count = 2", "stripe_count = 4", WRONG),
        text("start_extent = 30", "start_extent = 31", WRONG),
        text("start_extent = 0", "start_extent = 1", WRONG),
        text("segment_count = 2", "segment_count = 1", UNKNOWN),
        text("segment_count = 2", "segment_count = 3", WRONG),
        text("segment_count = 1", "segment_count = 0", UNKNOWN),
        text("pe_start = 256", "pe_start = 264", WRONG),
        text("pe_count = 150", "pe_count = 151", WRONG),
        text("dev_size = ", "dev_size = 1", WRONG),
        text("extent_size = 8", "extent_size = 0", WRONG),
        text("extent_size = 8", "extent_size = 16", WRONG),
        text("extent_size = 8", "extent_size = -8", WRONG),
        text("id = \"abcdef-", "id = \"Abcdef-", WRONG),
        text("format = \"lvm2\"", "format = \"lvm1\"", WRONG),
        text("seqno = 7\n", "", WRONG),
        text("seqno = 7", "seqno = \"7\"", WRONG),
        text("seqno = 7", "seqno = 7\nseqno = 7", WRONG),
        text("version = 1", "version = 2", WRONG),
        text("Text Format Volume Group", "Text Format Backup", WRONG),
        text("description =", "description", WRONG),
        text("description =", "vg1 { }\ndescription =", WRONG));
  }

  private static DynamicTest text(String from, String to, RefusalReason reason) {
    assertThat(TinyLvm.text()).contains(from);
    return DynamicTest.dynamicTest(
        from.strip() + " -> " + to.strip(),
        () ->
            assertRefused(new TinyLvm(List.of(TinyLvm.text().replace(from, to))).survey(), reason));
  }

  @Test
  void refusesAGroupWithoutLogicalVolumes() throws IOException {
    String text = TinyLvm.text();
    int from = text.indexOf("logical_volumes");
    String without = text.substring(0, from) + text.substring(text.indexOf("}\n# Generated"));
    assertRefused(new TinyLvm(List.of(without)).survey(), RefusalReason.NO_FILE_SYSTEM);
    assertRefused(
        new TinyLvm(List.of(without.replace("max_lv", "logical_volumes {}\nmax_lv"))).survey(),
        RefusalReason.NO_FILE_SYSTEM);
  }

  @TestFactory
  Stream<DynamicTest> refusesDamagedHeaders() {
    int area = TinyLvm.METADATA;
    RefusalReason checksum = RefusalReason.BAD_CHECKSUM;
    return Stream.of(
        damaged("label", checksum, lvm -> lvm.bytes[LABEL + 40] ^= 1),
        damaged("end of label", checksum, lvm -> lvm.bytes[LABEL + 511] ^= 1),
        damaged("header", checksum, lvm -> lvm.bytes[area + 511] ^= 1),
        damaged("text", checksum, lvm -> lvm.bytes[area + 700] ^= 1),
        label("another sector", WRONG, lvm -> lvm.disk().putLong(LABEL + 8, 2)),
        label("two labels", WRONG, lvm -> lvm.disk().put(1024, lvm.bytes, 512, 512)),
        label("another offset", UNKNOWN, lvm -> lvm.disk().putInt(LABEL + 20, 40)),
        label("another device", WRONG, lvm -> lvm.disk().put(LABEL + 33, (byte) 'x')),
        label("a larger device", WRONG, lvm -> lvm.disk().putLong(LABEL + 64, 1 << 20)),
        label("a device of no size", WRONG, lvm -> lvm.disk().putLong(LABEL + 64, 0)),
        label("a smaller device", WRONG, lvm -> lvm.disk().putLong(LABEL + 64, 200 << 10)),
        label("other data", WRONG, lvm -> lvm.disk().putLong(LABEL + 72, 1 << 16)),
        label("no data", WRONG, lvm -> lvm.disk().putLong(LABEL + 72, 0)),
        label("two areas of data", WRONG, lvm -> lvm.disk().putLong(LABEL + 88, 1 << 18)),
        label(
            "no metadata",
            UNKNOWN,
            lvm -> lvm.disk().putLong(LABEL + 104, 0).putLong(LABEL + 112, 0)),
        label("metadata without end", WRONG, TinyLvm::fillLabel),
        label("metadata over the label", WRONG, lvm -> lvm.disk().putLong(LABEL + 104, 1024)),
        label("metadata out of bounds", WRONG, lvm -> lvm.disk().putLong(LABEL + 104, 1L << 40)),
        label("metadata before the start", WRONG, lvm -> lvm.disk().putLong(LABEL + 104, -4096)),
        label("endless metadata", WRONG, lvm -> lvm.disk().putLong(LABEL + 112, Long.MAX_VALUE)),
        label("metadata of no size", WRONG, lvm -> lvm.disk().putLong(LABEL + 112, 512)),
        label("metadata elsewhere", WRONG, lvm -> lvm.disk().putLong(LABEL + 112, 60 << 10)),
        label(
            "metadata over data",
            WRONG,
            lvm -> {
              lvm.disk().putLong(LABEL + 112, 125 << 10).putLong(area + 32, 125 << 10);
              lvm.sumHeader(area);
            }),
        label("the next extension", UNKNOWN, lvm -> lvm.disk().putInt(LABEL + 136, 3)),
        label("flags", UNKNOWN, lvm -> lvm.disk().putInt(LABEL + 140, 3)),
        label("a boot area", UNKNOWN, lvm -> lvm.disk().putLong(LABEL + 144, 64 << 10)),
        header("magic", UNKNOWN, lvm -> lvm.disk().put(area + 5, (byte) 'x')),
        header("version", UNKNOWN, lvm -> lvm.disk().putInt(area + 20, 2)),
        header("place", WRONG, lvm -> lvm.disk().putLong(area + 24, 8192)),
        header("size", WRONG, lvm -> lvm.disk().putLong(area + 32, 8192)),
        header(
            "no text",
            RefusalReason.UNSUPPORTED_CONTENT,
            lvm -> lvm.disk().putLong(area + 40, 0).putLong(area + 48, 0)),
        header("text in the header", WRONG, lvm -> lvm.disk().putLong(area + 40, 100)),
        header("text behind the area", WRONG, lvm -> lvm.disk().putLong(area + 40, 56 << 10)),
        header("text of negative place", WRONG, lvm -> lvm.disk().putLong(area + 40, -1)),
        header("text of no length", WRONG, lvm -> lvm.disk().putLong(area + 48, 0)),
        header("endless text", WRONG, lvm -> lvm.disk().putLong(area + 48, 1L << 40)),
        header("text of negative length", WRONG, lvm -> lvm.disk().putLong(area + 48, -1)),
        header("flags of the text", WRONG, lvm -> lvm.disk().putInt(area + 60, 1)),
        header("a text to come", WRONG, lvm -> lvm.disk().putLong(area + 64, 4096)));
  }

  private static DynamicTest damaged(String name, RefusalReason reason, Consumer<TinyLvm> change) {
    return DynamicTest.dynamicTest(
        name,
        () -> {
          TinyLvm lvm = new TinyLvm();
          change.accept(lvm);
          assertRefused(lvm.survey(), reason);
        });
  }

  private static DynamicTest label(String name, RefusalReason reason, Consumer<TinyLvm> change) {
    return damaged(name, reason, change.andThen(TinyLvm::sumLabel));
  }

  private static DynamicTest header(String name, RefusalReason reason, Consumer<TinyLvm> change) {
    return damaged(name, reason, change.andThen(lvm -> lvm.sumHeader(TinyLvm.METADATA)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "}",
        "a",
        "a =",
        "a = [",
        "a = [1,",
        "a = [1 2]",
        "a = [,]",
        "a = \"",
        "a = \"\\n\"",
        "a = \"\t\"",
        "a = -",
        "a = 1.5",
        "a = 1234567890123456789",
        "a = x",
        "a { b { c { d { e { f { g { } } } } } } }",
        "a { b = 1",
        "a = 1 a = 2",
        "= 1",
        "a = [[1]]",
        "a { } }",
        "a = 1 \0 b = 2",
        "# a\0b\na = 1"
      })
  void refusesTextsThatAreNotWellFormedOrSayTooLittle(String text) throws IOException {
    assertRefused(new TinyLvm(List.of(text)).survey(), WRONG);
  }

  @Test
  void neverListsUsedSpaceWithBitsOfTheMetadataChanged() throws IOException {
    String text = TinyLvm.text();
    TinyLvm lvm = new TinyLvm(List.of(text, text));
    Verdicts verdicts = new Verdicts();
    Tries.times(
        3000,
        values -> {
          int from = values.oneOf(List.of(512, TinyLvm.METADATA, TinyLvm.SECOND_METADATA));
          int length = from == 512 ? 512 : 512 + text.length() + 1;
          Mutant mutant = new Mutant(new MemoryImage(lvm.bytes));
          for (int flips = values.between(1, 3); flips > 0; flips--) {
            mutant.flip(from + values.between(0, length - 1), 1 << values.between(0, 7));
          }
          verdicts.judge(mutant, lvm.free);
        });
    System.out.println("bits of LVM2 metadata: " + verdicts);
  }

  /** Metadata that lies with right checksums cannot lead out of the extents. */
  @Test
  void listsNothingOutsideOfTheExtentsWhateverTheTextSays() throws IOException {
    byte[] text = TinyLvm.text().getBytes(StandardCharsets.US_ASCII);
    String some = " \n\"[]{}=,#0123456789abpv\\-";
    int[] clean = new int[1];
    TinyLvm lvm = new TinyLvm();
    Tries.times(
        3000,
        values -> {
          byte[] changed = text.clone();
          for (int changes = values.between(1, 3); changes > 0; changes--) {
            changed[values.between(0, text.length - 1)] =
                (byte) some.charAt(values.between(0, some.length() - 1));
          }
          lvm.metadata(new String(changed, StandardCharsets.US_ASCII), TinyLvm.METADATA, 512);
          if (lvm.survey().inspection() instanceof Inspection.Clean found) {
            clean[0]++;
            assertThat(
                    Ranges.outsideOf(
                        List.of(new FreeRange(at(0), at(150) - at(0))), Ranges.of(found)))
                .isEmpty();
          }
        });
    assertThat(clean[0]).isPositive();
  }

  @Test
  void readsAcrossExtentsAndStripesInOneGo() throws IOException {
    TinyLvm lvm = new TinyLvm();
    LvmSegment segment = new LvmSegment(0, 40 * 4096, 8192, List.of(at(100), at(121)));
    LvmDevice device =
        new LvmDevice(
            new Device(new MemoryImage(lvm.bytes), InspectionMemory.of(() -> false)),
            List.of(segment));
    ByteBuffer all = ByteBuffer.allocate((int) device.size());
    device.read(0, all);
    assertThat(all.array()).isEqualTo(TinyDos.swap());
    Tries.times(
        300,
        values -> {
          int from = values.between(0, all.capacity());
          int length = values.between(0, all.capacity() - from);
          ByteBuffer part = ByteBuffer.allocate(length);
          device.read(from, part);
          assertThat(part.flip()).isEqualTo(all.slice(from, length));
        });
  }
}
