package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException.Reason;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckedNameTest {
  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "a/b", "/", "a\0", "\0", "a\nb", "\u202Ea", "\uD800"})
  void whatCannotBeANameIsRefused(String text) {
    assertRefused(() -> CheckedName.of("parameters: pool", text));
    assertRefused(() -> CheckedName.ofExisting("parameters: pool", text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"-a", " ", "a b", "ü", "a,b", "a=b", "a@b", "a:b", "$(a)", "a\"b"})
  void whatTheDriverNamesHasFewCharacters(String text) {
    assertRefused(() -> CheckedName.of("parameters: pool", text));
    assertThat(CheckedName.ofExisting("parameters: pool", text)).hasToString(text);
  }

  @Test
  void namesAreBounded() {
    assertThat(CheckedName.of("name", "a".repeat(255))).hasToString("a".repeat(255));
    assertRefused(() -> CheckedName.of("parameters: pool", "a".repeat(256)));
    assertRefused(() -> CheckedName.ofExisting("parameters: pool", "ü".repeat(128)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"csi-vol-", "rbd", ".rgw.root", "_x", "A.b_C-9"})
  void usualNamesAreTaken(String text) {
    assertThat(CheckedName.of("parameters: pool", text)).hasToString(text);
  }

  private static void assertRefused(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageStartingWith("parameters: pool m")
        .hasMessageMatching("\\P{Cntrl}{1,250}");
  }
}
