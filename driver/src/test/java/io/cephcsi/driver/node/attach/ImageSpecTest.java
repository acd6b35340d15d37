package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageSpecTest {
  private static void assertRefused(ImageSpec image) {
    assertThatThrownBy(image::argument)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
  }

  @Test
  void namesThatAreFitStayAsTheyAre() {
    assertThat(new ImageSpec("pool.1", "ns", "csi-vol:ü-1").argument())
        .hasToString("pool.1/ns/csi-vol:ü-1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "--conf=/x", "a\nb", "a\u0000", "\u001b[2J", "\u202eabc"})
  void aNameIsNoOptionAndPlain(String text) {
    assertRefused(new ImageSpec("pool", "", text));
    assertRefused(new ImageSpec(text, "", "image"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a,log_file=/tmp/x", "other snap", "a@snap", "a/b", "a\\b", "a\"b", "-a"})
  void anImageIsNotAnotherNorOptions(String name) {
    assertRefused(new ImageSpec("pool", "", name));
    assertRefused(new ImageSpec(name, "", "image"));
    assertRefused(new ImageSpec("pool", name, "image"));
  }
}
