package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.testing.Tries;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RangePlanTest {
  private static List<FreeRange> list(RangePlan plan) {
    List<FreeRange> ranges = new ArrayList<>();
    plan.forEach(ranges::add);
    return ranges;
  }

  @Test
  void mergesNeighboursAndTranslates() {
    RangePlan plan = new RangePlan(1 << 20, 4096, 1 << 20);
    plan.add(0, 2);
    plan.add(2, 3);
    plan.add(6, 1);
    plan.finish();
    assertThat(list(plan))
        .containsExactly(
            new FreeRange(1 << 20, 5 * 4096), new FreeRange((1 << 20) + 6 * 4096, 4096));
    assertThat(plan.bytes()).isEqualTo(6 * 4096);
    assertThat(plan.count()).isEqualTo(2);
  }

  @Test
  void refusesOverlaps() {
    RangePlan plan = new RangePlan(0, 512, 1 << 20);
    plan.add(10, 5);
    assertThatThrownBy(() -> plan.add(14, 1)).isInstanceOf(Refusal.class);
    assertThatThrownBy(() -> plan.add(20, 0)).isInstanceOf(Refusal.class);
  }

  @Test
  void keepsEveryRange() {
    Tries.times(
        200,
        values -> {
          RangePlan plan = new RangePlan(0, 1, 1 << 20);
          List<FreeRange> expected = new ArrayList<>();
          long at = 0;
          for (int i = values.between(0, 150); i > 0; i--) {
            at += values.between(1, 1L << 33);
            FreeRange range = new FreeRange(at, values.between(1, 1L << 33));
            plan.add(range.offset(), range.length());
            expected.add(range);
            at += range.length();
          }
          assertThat(list(plan.finish())).isEqualTo(expected);
        });
  }

  @Test
  void leavesOutTheShortestWhenThereAreTooMany() {
    RangePlan plan = new RangePlan(0, 1, 256 << 10);
    long at = 0;
    long total = 0;
    for (int i = 0; i < 1_000_000; i++) {
      at += 3;
      int length = 1 + i % 100;
      plan.add(at, length);
      at += length;
      total += length;
    }
    plan.finish();
    List<FreeRange> kept = list(plan);
    assertThat(plan.omittedBytes()).isPositive();
    assertThat(plan.bytes() + plan.omittedBytes()).isEqualTo(total);
    assertThat(kept).hasSize((int) plan.count()).hasSizeLessThan(200_000);
    assertThat(kept).allMatch(range -> range.length() >= 64);
  }
}
