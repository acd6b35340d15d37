package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** FAT, exFAT and swap areas made by hand, and what becomes of them when bits change. */
class DosFileSystemsTest {
  private static final byte[] FAT = TinyDos.fat();
  private static final byte[] EXFAT = TinyDos.exfat();
  private static final byte[] SWAP = TinyDos.swap();

  private static List<FreeRange> free(byte[] bytes) throws IOException {
    Inspection inspection = FileSystems.inspect(new MemoryImage(bytes));
    assertThat(inspection).isInstanceOf(Inspection.Clean.class);
    return Ranges.of((Inspection.Clean) inspection);
  }

  private static FreeRange sectors(int from, int end) {
    return new FreeRange(from * 512L, (end - from) * 512L);
  }

  @Test
  void listsTheFreeSpaceOfHandMadeFileSystems() throws IOException {
    assertThat(free(FAT)).containsExactly(sectors(7, 8), sectors(10, 300));
    assertThat(free(EXFAT)).containsExactly(sectors(32, 33), sectors(35, 428));
    assertThat(free(SWAP)).containsExactly(sectors(8, 320));
  }

  @Test
  void neverListsUsedSpaceWithOneBitOfBothFatsChanged() throws IOException {
    List<FreeRange> free = free(FAT);
    for (int bit = 0; bit < 16 * 8; bit++) {
      Mutant mutant = new Mutant(new MemoryImage(FAT));
      mutant.flip(512 + bit / 8, 1 << bit % 8).flip(1024 + bit / 8, 1 << bit % 8);
      check(mutant, free);
    }
  }

  @Test
  void neverListsUsedSpaceWithOneBitChanged() {
    Tries.times(
        3000,
        values -> {
          byte[] bytes = values.oneOf(List.of(FAT, EXFAT, SWAP));
          int at = values.between(0, 40 * 512 - 1);
          check(
              new Mutant(new MemoryImage(bytes)).flip(at, 1 << values.between(0, 7)), free(bytes));
        });
  }

  private static void check(Mutant mutant, List<FreeRange> free) throws IOException {
    if (FileSystems.inspect(mutant) instanceof Inspection.Clean clean) {
      assertThat(Ranges.outsideOf(free, Ranges.of(clean))).as("%s", mutant).isEmpty();
    }
  }

  @Test
  void alwaysAnswersHoweverMuchIsChanged() {
    Tries.times(
        3000,
        values -> {
          byte[] bytes = values.oneOf(List.of(FAT, EXFAT, SWAP));
          int mask = (int) values.number();
          Mutant mutant = new Mutant(new MemoryImage(bytes));
          for (int i = values.between(1, 20); i > 0; i--) {
            mutant.flip(values.between(0, 40 * 512), mask >>> (i % 25));
          }
          assertThat(FileSystems.inspect(mutant)).isNotNull();
        });
  }
}
