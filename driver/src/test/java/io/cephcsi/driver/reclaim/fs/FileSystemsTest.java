package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Hand-made file systems, and what becomes of them when bits change. */
class FileSystemsTest {
  private static final TinyExt EXT = new TinyExt(new Random(1));
  private static final TinyXfs XFS4 = new TinyXfs(new Random(2), false);
  private static final TinyXfs XFS5 = new TinyXfs(new Random(3), true);

  private static Inspection inspect(byte[] bytes) throws IOException {
    return FileSystems.inspect(new MemoryImage(bytes));
  }

  @Test
  void listsTheFreeSpaceOfHandMadeFileSystems() throws IOException {
    assertThat(Ranges.of((Inspection.Clean) inspect(EXT.bytes))).isEqualTo(EXT.free);
    assertThat(Ranges.of((Inspection.Clean) inspect(XFS4.bytes))).isEqualTo(XFS4.free);
    assertThat(Ranges.of((Inspection.Clean) inspect(XFS5.bytes))).isEqualTo(XFS5.free);
  }

  @Test
  void neverListsUsedSpaceOfExtWithOneBitChanged() {
    Tries.times(
        3000,
        values -> {
          int bit = values.between(0, 16 * 1024 * 8 - 1);
          int start = values.either() ? 8193 * 1024 : 0;
          checkFlip(EXT.bytes, EXT.free, start + bit / 8, bit % 8);
        });
  }

  @Test
  void neverListsUsedSpaceOfXfsWithOneBitChanged() {
    Tries.times(
        2000,
        values -> {
          int bit = values.between(0, 16 * 4096 * 8 - 1);
          TinyXfs xfs = values.either() ? XFS5 : XFS4;
          int start = values.either() ? 4096 * 4096 : 0;
          checkFlip(xfs.bytes, xfs.free, start + bit / 8, bit % 8);
        });
  }

  private static void checkFlip(byte[] bytes, List<FreeRange> free, int at, int bit)
      throws IOException {
    Mutant mutant = new Mutant(new MemoryImage(bytes)).flip(at, 1 << bit);
    if (FileSystems.inspect(mutant) instanceof Inspection.Clean clean) {
      assertThat(Ranges.outsideOf(free, Ranges.of(clean))).isEmpty();
    }
  }

  @Test
  void alwaysAnswersHoweverMuchIsChanged() {
    Tries.times(
        2000,
        values -> {
          byte[] bytes = values.oneOf(List.of(EXT.bytes, XFS4.bytes, XFS5.bytes));
          int mask = (int) values.number();
          Mutant mutant = new Mutant(new MemoryImage(bytes));
          for (int i = values.between(1, 40); i > 0; i--) {
            int at = values.between(0, 20 * 1024);
            mutant.flip(at, mask >>> (at % 25));
          }
          assertThat(FileSystems.inspect(mutant)).isNotNull();
        });
  }

  @Test
  void alwaysAnswersToNoise() {
    Tries.times(
        500,
        values -> {
          byte[] noise = new byte[200 << 10];
          new Random(values.number()).nextBytes(noise);
          int magic = values.between(0, 3);
          byte[] from = magic == 0 ? EXT.bytes : XFS4.bytes;
          int at = magic == 0 ? 1024 : 0;
          System.arraycopy(from, at, noise, at, magic == 3 ? 0 : 512);
          assertThat(inspect(noise)).isInstanceOf(Inspection.Refused.class);
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 511, 512, 1023, 1024, 4096, 131071})
  void answersForTheSmallestDevices(int size) throws IOException {
    Inspection inspection = inspect(new byte[size]);
    assertThat(inspection.kind()).isEqualTo(FileSystemKind.BLANK);
  }
}
