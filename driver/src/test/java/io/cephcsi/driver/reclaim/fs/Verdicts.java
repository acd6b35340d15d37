package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Judges the answers about damaged devices, and counts them by reason. */
final class Verdicts {
  private final Map<String, Integer> counts = new TreeMap<>();

  /** There must be an answer, and nothing in it but what the undamaged device has free. */
  void judge(Mutant mutant, List<FreeRange> free) {
    Inspection inspection;
    try {
      inspection = FileSystems.inspect(mutant);
    } catch (IOException | RuntimeException e) {
      throw new AssertionError("seed " + Campaign.SEED + ", " + mutant, e);
    }
    if (inspection instanceof Inspection.Refused refused) {
      counts.merge(refused.reason().name(), 1, Integer::sum);
    } else if (inspection instanceof Inspection.Clean clean) {
      List<FreeRange> listed = Ranges.of(clean);
      assertThat(Ranges.outsideOf(free, listed))
          .as("used space listed as free: seed %d, %s", Campaign.SEED, mutant)
          .isEmpty();
      counts.merge(listed.equals(free) ? "same" : "subset", 1, Integer::sum);
    }
  }

  /** Fails unless a device is refused that ends at any of these sizes. */
  static void assertRefusedWhenCut(ImageFile file, List<Long> sizes) throws IOException {
    for (long size : sizes) {
      assertThat(FileSystems.inspect(new Mutant(file).cutTo(size)))
          .as("cut to %d bytes", size)
          .isInstanceOf(Inspection.Refused.class);
    }
  }

  @Override
  public String toString() {
    return counts.toString();
  }
}
