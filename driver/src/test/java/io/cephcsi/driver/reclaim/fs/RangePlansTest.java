package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RangePlansTest {
  private static List<FreeRange> list(RangePlans plans) {
    List<FreeRange> ranges = new ArrayList<>();
    plans.forEach(ranges::add);
    return ranges;
  }

  private static RangePlan plan(long start, long... ends) {
    RangePlan plan = new RangePlan(start, 512, 1 << 20);
    for (int i = 0; i < ends.length; i += 2) {
      plan.add(ends[i], ends[i + 1] - ends[i]);
    }
    return plan.finish();
  }

  @Test
  void tellsThePlansInTheOrderOfTheDeviceAndJoinsWhatMeets() {
    RangePlans plans =
        new RangePlans(1 << 20)
            .add(plan(20 * 512, 0, 3, 5, 10))
            .add(plan(0))
            .add(plan(0, 0, 2, 4, 10))
            .add(plan(10 * 512, 0, 10));
    assertThat(list(plans))
        .containsExactly(
            new FreeRange(0, 1024), new FreeRange(2048, 19 * 512), new FreeRange(25 * 512, 2560));
    assertThat(plans.bytes()).isEqualTo((2 + 19 + 5) * 512);
    assertThat(plans.count()).isEqualTo(3);
    assertThat(plans.omittedBytes()).isZero();
  }

  @Test
  void leavesOutTheShortestOfTheLargestPlan() {
    RangePlans plans = new RangePlans(2048);
    plans.add(plan(0, 1, 2, 3, 4));
    RangePlan large = new RangePlan(512 << 10, 512, 1 << 20);
    for (int i = 0; i < 2000; i++) {
      large.add(100L * i, i % 10 == 0 ? 50 : 3);
    }
    plans.add(large.finish());
    assertThat(large.encodedBytes()).isLessThanOrEqualTo(2048);
    List<FreeRange> listed = list(plans);
    assertThat(listed).startsWith(new FreeRange(512, 512), new FreeRange(3 * 512, 512));
    assertThat(listed.stream().filter(range -> range.length() == 50 * 512)).hasSize(200);
    assertThat(plans.bytes() + plans.omittedBytes()).isEqualTo((2 + 200 * 50 + 1800 * 3) * 512L);
    assertThat(plans.omittedBytes()).isPositive();
  }
}
