package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A hand-made NTFS, what becomes of it when bits change, and the parts that read it. */
class NtfsTest {
  private static final TinyNtfs NTFS = new TinyNtfs();

  private static Inspection inspect(Mutant mutant) throws IOException {
    return FileSystems.inspect(mutant);
  }

  private static Mutant mutant() {
    return new Mutant(new MemoryImage(NTFS.bytes));
  }

  @Test
  void listsTheFreeSpaceOfAHandMadeVolume() throws IOException {
    Inspection inspection = inspect(mutant());
    assertThat(inspection).as("%s", inspection).isInstanceOf(Inspection.Clean.class);
    assertThat(Ranges.of((Inspection.Clean) inspection)).isEqualTo(NTFS.free);
  }

  @Test
  void refusesALostPartOfAFile() throws IOException {
    int record = (TinyNtfs.TABLE + TinyNtfs.SECOND_PART) * TinyNtfs.CLUSTER;
    int bitmap = 61 * TinyNtfs.CLUSTER + TinyNtfs.SECOND_PART / 8;
    Mutant mutant = mutant().flip(record + 22, 1).flip(bitmap, 1 << TinyNtfs.SECOND_PART % 8);
    assertThat(((Inspection.Refused) inspect(mutant)).detail()).contains("part of a file");
  }

  @Test
  void refusesClustersThatTwoFilesClaim() throws IOException {
    int runs = (TinyNtfs.TABLE + TinyNtfs.SECOND_PART) * TinyNtfs.CLUSTER + 0x38 + 0x42;
    Mutant mutant = mutant().patch(runs, ByteBuffer.wrap(new byte[] {100}));
    assertThat(((Inspection.Refused) inspect(mutant)).detail()).contains("claimed twice");
  }

  @Test
  void neverListsUsedSpaceWithOneBitChanged() {
    Tries.times(
        4000,
        values -> {
          int at = values.between(0, NTFS.bytes.length - 1);
          at = values.either() ? at : (TinyNtfs.TABLE * TinyNtfs.CLUSTER + at % (50 << 10));
          Mutant mutant = mutant().flip(at, 1 << values.between(0, 7));
          if (inspect(mutant) instanceof Inspection.Clean clean) {
            assertThat(Ranges.outsideOf(NTFS.free, Ranges.of(clean))).isEmpty();
          }
        });
  }

  @Test
  void alwaysAnswersHoweverMuchIsChanged() {
    Tries.times(
        2000,
        values -> {
          Mutant mutant = mutant();
          for (int i = values.between(1, 30); i > 0; i--) {
            int record = values.between(0, TinyNtfs.RECORDS - 1);
            int at = (TinyNtfs.TABLE + record) * TinyNtfs.CLUSTER + values.between(0, 200);
            mutant.flip(at, values.between(1, 255));
          }
          assertThat(inspect(mutant)).isNotNull();
        });
  }

  private static NtfsRuns runs(int... list) {
    byte[] bytes = new byte[list.length];
    for (int i = 0; i < list.length; i++) {
      bytes[i] = (byte) list[i];
    }
    return new NtfsRuns(ByteBuffer.wrap(bytes), 1000);
  }

  @Test
  void decodesRuns() {
    NtfsRuns runs = runs(0x11, 4, 20, 0x01, 3, 0x11, 5, -10, 0x22, 0x80, 0, 0, 1, 0, 99);
    assertThat(runs.count()).isEqualTo(4);
    assertThat(runs.length()).isEqualTo(140);
    assertThat(runs.cluster(1)).isEqualTo(NtfsRuns.HOLE);
    assertThat(runs.cluster(2)).isEqualTo(10);
    assertThat(runs.cluster(3)).isEqualTo(266);
    assertThat(runs.length(3)).isEqualTo(128);
  }

  @Test
  void refusesRunsThatAreNone() {
    int[][] lists = {
      {},
      {0x11, 4},
      {0x11, 4, 20},
      {0x11, 0, 20, 0},
      {0x11, -1, 20, 0},
      {0x10, 4, 0},
      {0x11, 4, -1, 0},
      {0x21, 4, 0xE5, 3, 0},
      {0x91, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
      {0x81, 4, -1, -1, -1, -1, -1, -1, -1, 0x7f, 0},
      {0x08, -1, -1, -1, -1, -1, -1, -1, 0x7f, 0x08, -1, -1, -1, -1, -1, -1, -1, 0x7f, 0}
    };
    for (int[] list : lists) {
      assertThatThrownBy(() -> runs(list)).isInstanceOf(Refusal.class);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 63, 64, 32_767, 32_768, 100_000})
  void keepsSetsOfClusters(long length) {
    NtfsBits bits = new NtfsBits(200_000, "cluster", InspectionMemory.of(() -> false));
    bits.add(5, length);
    assertThat(bits.has(4)).isFalse();
    assertThat(bits.has(5)).isTrue();
    assertThat(bits.has(4 + length)).isTrue();
    assertThat(bits.has(5 + length)).isFalse();
    bits.add(5 + length, 1);
    for (long taken : new long[] {5, 4 + length, 5 + length}) {
      assertThatThrownBy(() -> bits.add(taken, 1)).isInstanceOf(Refusal.class);
    }
    bits.add(6 + length, 200_000 - 6 - length);
    assertThat(bits.word(200_000 / 64 - 1)).isEqualTo(-1);
  }
}
