package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PoolPlanTest {
  private static final long MIB = 1 << 20;

  private static ImageEstimate image(String name, long bytes, long operations) {
    Discarded discarded = new Discarded(bytes, 0, bytes, operations);
    return new ImageEstimate("id-" + name, name, TrimReport.done("ext4", discarded));
  }

  private static ImageEstimate refused(String name, String reason) {
    return new ImageEstimate("id-" + name, name, TrimReport.skipped(reason, "because", ""));
  }

  private static List<String> names(PoolPlan plan) {
    return plan.chosen().stream().map(ImageEstimate::name).toList();
  }

  @Test
  void whatGivesMostForTheTimeComesFirstWhateverTheOrderOfTheList() {
    List<ImageEstimate> images =
        new ArrayList<>(
            List.of(
                image("many-small-ranges", 900 * MIB, 100_000),
                image("whole-objects", 800 * MIB, 200),
                image("one-object", 4 * MIB, 1),
                image("equal-b", 40 * MIB, 10),
                image("equal-a", 40 * MIB, 10),
                image("large", 40_000 * MIB, 10_000)));
    List<String> expected =
        List.of("large", "whole-objects", "equal-a", "equal-b", "one-object", "many-small-ranges");
    Random random = new Random(5);
    for (int round = 0; round < 50; round++) {
      Collections.shuffle(images, random);
      assertThat(names(PoolPlan.of(images, 0, 0))).isEqualTo(expected);
    }
  }

  @Test
  void whatIsLeftIsListedByReason() {
    PoolPlan plan =
        PoolPlan.of(
            List.of(
                refused("b", "in_use"),
                image("clean", 0, 0),
                refused("a", "encrypted"),
                image("first", 8 * MIB, 2),
                image("second", 4 * MIB, 2),
                image("third", 4 * MIB, 3),
                refused("c", "in_use")),
            2,
            0);
    assertThat(names(plan)).containsExactly("first", "second");
    assertThat(plan.left().stream().map(left -> left.reason() + " " + left.image().name()))
        .containsExactly(
            "beyond_top third", "encrypted a", "in_use b", "in_use c", "nothing_to_free clean");
    assertThat(plan.left()).allMatch(left -> !left.detail().isEmpty());
    assertThat(plan.bytes()).isEqualTo(12 * MIB);
  }

  @Test
  void smallImagesAreLeftWhenThatIsAskedFor() {
    PoolPlan plan = PoolPlan.of(List.of(image("s", MIB - 1, 1), image("l", MIB, 1)), 0, MIB);
    assertThat(names(plan)).containsExactly("l");
    assertThat(plan.left().get(0).reason()).isEqualTo("below_min_bytes");
  }

  @Test
  void forgedSizesDoNotOverflow() {
    PoolPlan plan =
        PoolPlan.of(
            List.of(image("a", Long.MAX_VALUE, 1), image("b", Long.MAX_VALUE, Long.MAX_VALUE / 2)),
            0,
            0);
    assertThat(plan.bytes()).isEqualTo(Long.MAX_VALUE);
    assertThat(names(plan)).containsExactly("a", "b");
  }
}
