package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PoolBudgetTest {
  @ParameterizedTest
  @CsvSource({
    "4096,4096",
    "1K,1024",
    "30M,31457280",
    "30MiB,31457280",
    "2GB,2147483648",
    "1T,1099511627776",
    "7P,7881299347898368"
  })
  void aSizeHasAUnitInCapitalsOrNone(String text, long bytes) {
    assertThat(PoolBudget.parse(text).bytes()).hasValue(bytes);
    assertThat(PoolBudget.parse(text).time()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"30m,PT30M", "2h,PT2H", "1h30m,PT1H30M", "90s,PT1M30S", "500ms,PT0.5S"})
  void aTimeHasUnitsInSmallLetters(String text, Duration time) {
    assertThat(PoolBudget.parse(text).time()).contains(time);
    assertThat(PoolBudget.parse(text).bytes()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "0", "0s", "0G", "-1", "1g", "1.5G", "2H", "1 G", "9999999999999P", "G", "mh"})
  void anythingElseIsNamed(String text) {
    assertThatThrownBy(() -> PoolBudget.parse(text))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("--budget");
  }

  @Test
  void withoutABudgetThereIsNoBound() {
    assertThat(PoolBudget.parse(null).bytes()).isEmpty();
    assertThat(PoolBudget.parse(null).time()).isEmpty();
  }
}
