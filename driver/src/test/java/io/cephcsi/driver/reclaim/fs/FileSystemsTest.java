package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
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

  @Property(tries = 3000)
  void neverListsUsedSpaceOfExtWithOneBitChanged(
      @ForAll @IntRange(max = 16 * 1024 * 8 - 1) int bit, @ForAll boolean second)
      throws IOException {
    int start = second ? 8193 * 1024 : 0;
    checkFlip(EXT.bytes, EXT.free, start + bit / 8, bit % 8);
  }

  @Property(tries = 2000)
  void neverListsUsedSpaceOfXfsWithOneBitChanged(
      @ForAll @IntRange(max = 16 * 4096 * 8 - 1) int bit,
      @ForAll boolean second,
      @ForAll boolean v5)
      throws IOException {
    TinyXfs xfs = v5 ? XFS5 : XFS4;
    int start = second ? 4096 * 4096 : 0;
    checkFlip(xfs.bytes, xfs.free, start + bit / 8, bit % 8);
  }

  private static void checkFlip(byte[] bytes, List<FreeRange> free, int at, int bit)
      throws IOException {
    Mutant mutant = new Mutant(new MemoryImage(bytes)).flip(at, 1 << bit);
    if (FileSystems.inspect(mutant) instanceof Inspection.Clean clean) {
      assertThat(Ranges.outsideOf(free, Ranges.of(clean))).isEmpty();
    }
  }

  @Property(tries = 2000)
  void alwaysAnswersHoweverMuchIsChanged(
      @ForAll @IntRange(max = 2) int which,
      @ForAll @Size(min = 1, max = 40) List<@IntRange(max = 20 * 1024) Integer> places,
      @ForAll int mask)
      throws IOException {
    byte[] bytes = List.of(EXT.bytes, XFS4.bytes, XFS5.bytes).get(which);
    Mutant mutant = new Mutant(new MemoryImage(bytes));
    for (int place : places) {
      mutant.flip(place, mask >>> (place % 25));
    }
    assertThat(FileSystems.inspect(mutant)).isNotNull();
  }

  @Property(tries = 500)
  void alwaysAnswersToNoise(@ForAll long seed, @ForAll @IntRange(max = 3) int magic)
      throws IOException {
    byte[] noise = new byte[200 << 10];
    new Random(seed).nextBytes(noise);
    byte[] from = magic == 0 ? EXT.bytes : XFS4.bytes;
    int at = magic == 0 ? 1024 : 0;
    System.arraycopy(from, at, noise, at, magic == 3 ? 0 : 512);
    assertThat(inspect(noise)).isInstanceOf(Inspection.Refused.class);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 511, 512, 1023, 1024, 4096, 131071})
  void answersForTheSmallestDevices(int size) throws IOException {
    Inspection inspection = inspect(new byte[size]);
    assertThat(inspection.kind()).isEqualTo(FileSystemKind.BLANK);
  }
}
