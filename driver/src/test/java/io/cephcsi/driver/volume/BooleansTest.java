package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BooleansTest {
  @ParameterizedTest
  @ValueSource(strings = {"1", "t", "T", "true", "TRUE", "True"})
  void readsWhatGoTakesForTrue(String text) {
    assertThat(Booleans.isTrue("parameters", Map.of("encrypted", text), "encrypted")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "f", "F", "false", "FALSE", "False"})
  void readsWhatGoTakesForFalse(String text) {
    assertThat(Booleans.given("parameters", Map.of("encrypted", text), "encrypted"))
        .contains(false);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "yes", " true", "true\n", "tRUE", "on", "2", "null", "тrue"})
  void refusesWhatIsNotClearlyOne(String text) {
    assertThatThrownBy(() -> Booleans.given("parameters", Map.of("encrypted", text), "encrypted"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("parameters: encrypted must be true or false")
        .hasMessageNotContaining("\n");
  }

  @Test
  void anAbsentKeyIsNotGiven() {
    assertThat(Booleans.given("parameters", Map.of(), "encrypted")).isEmpty();
    assertThat(Booleans.isTrue("parameters", Map.of(), "encrypted")).isFalse();
  }
}
