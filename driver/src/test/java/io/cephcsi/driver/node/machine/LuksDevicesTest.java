package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LuksDevicesTest {
  @Test
  void idsOfDriversCanBeNames() {
    String id = "aA0#+.:=@_-" + "x".repeat(107);
    LuksDevices.requireNameable(id);
    assertThat(LuksDevices.nameOf(id)).hasSize(127);
    assertRefused(id + "x");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "an image", "a~b", "a/b", "a\\x20b", "\u00e9", "a\n"})
  void whatTheLibraryWritesOtherwiseIsRefused(String id) {
    assertRefused(id);
  }

  private static void assertRefused(String id) {
    assertThatThrownBy(() -> LuksDevices.requireNameable(id))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("named after");
  }
}
