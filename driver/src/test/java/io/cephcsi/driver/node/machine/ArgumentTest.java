package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ArgumentTest {
  private static void assertRefused(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
  }

  @Test
  void whatIsFitStaysAsItIs() {
    assertThat(Argument.of("x", "a b,c=d")).hasToString("a b,c=d");
    assertThat(Argument.path(Path.of("/dev/rbd 0"))).hasToString("/dev/rbd 0");
    assertThat(Argument.options("x", List.of("ro", "context=\"a:b:c:s0:c1,c2\"")))
        .hasToString("ro,context=\"a:b:c:s0:c1,c2\"");
    assertThat(Argument.letter("x", "-Enodiscard")).hasToString("-Enodiscard");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-d", "--conf=/x", "a\nb", "a\u0000", "\u001b[2J", "\u202eabc"})
  void aValueIsNoOptionAndPlain(String text) {
    assertRefused(() -> Argument.of("x", text));
    assertRefused(() -> Argument.options("x", List.of("ro", text.isEmpty() ? "" : text + "\t")));
  }

  @Test
  void aValueIsBoundedAndAPathAbsolute() {
    assertRefused(() -> Argument.of("x", "a".repeat(40_000)));
    assertRefused(() -> Argument.path(Path.of("relative")));
    assertRefused(() -> Argument.path(Path.of("/a\nb")));
    assertRefused(() -> Argument.letter("x", "--conf"));
    assertRefused(() -> Argument.letter("x", "/etc"));
  }

  /** A user's id or an image's name would bring options of its own. */
  @Test
  void anOptionIsNotSeveral() {
    assertRefused(() -> Argument.options("x", List.of("name=a,secretfile=/etc/shadow")));
    assertRefused(() -> Argument.options("x", List.of("name=\"a", "b")));
    assertRefused(() -> Argument.options("x", List.of()));
  }
}
