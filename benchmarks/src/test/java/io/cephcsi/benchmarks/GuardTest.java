package io.cephcsi.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GuardTest {
  private static Finding rate(double ours, double c) {
    return Finding.rate("discard-64", "discards", "1/s", ours).beside(Finding.C, c);
  }

  private static Finding time(double ours, double c) {
    return Finding.time("tracker", "a change", "us", ours).beside(Finding.C, c);
  }

  private static Guard guard(Finding... medians) {
    return Guard.of(List.of(List.of(medians)));
  }

  @Test
  void aSlowedPathIsCaught() {
    assertThat(guard(rate(1000, 1000)).fallen(List.of(rate(700, 1000))))
        .containsExactly("discard-64 beside C: 0.70, expected 1.00 and at least 0.85");
    assertThat(guard(time(100, 100)).fallen(List.of(time(150, 100)))).hasSize(1);
  }

  @Test
  void aMachineThatIsSlowerForBothIsNotCaught() {
    assertThat(guard(rate(1000, 1000)).fallen(List.of(rate(100, 100)))).isEmpty();
    assertThat(guard(time(100, 100)).fallen(List.of(time(900, 950)))).isEmpty();
  }

  @Test
  void whatRunsDifferByIsItsBand() {
    Guard guard =
        Guard.of(List.of(List.of(rate(100, 100)), List.of(rate(70, 100)), List.of(rate(110, 100))));
    assertThat(guard.ratios().get("discard-64 beside C")).isEqualTo(new Guard.Expected(1, 0.45));
    assertThat(guard.fallen(List.of(rate(60, 100)))).isEmpty();
    assertThat(guard.fallen(List.of(rate(50, 100)))).hasSize(1);
  }

  @Test
  void savedAndLoadedItIsTheSame(@TempDir Path folder) throws IOException {
    Guard guard = guard(rate(1000, 900), time(100, 90));
    guard.save(folder.resolve("baseline.json"));
    assertThat(Guard.load(folder.resolve("baseline.json"))).isEqualTo(guard);
  }

  @Test
  void aRatioIsTheMedianOfTheRounds() {
    Finding finding =
        Finding.time("x", "x", "ms", 10, 20, 1000).beside(Finding.C, 5, 10, 500).atLeast("C", 0.5);
    assertThat(finding.ratio(Finding.C)).isEqualTo(0.5);
    assertThat(finding.holds(Finding.C)).isTrue();
    assertThat(finding.withinItself(15).holds(Finding.ITSELF)).isFalse();
  }
}
