package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException.Reason;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlainTextTest {
  @ParameterizedTest
  @ValueSource(
      ints = {
        0, 1, 9, 0xA, 0xD, 0x1B, 0x7F, 0x80, 0x85, 0x9F, 0x61C, 0x200E, 0x200F, 0x2028, 0x2029,
        0x202A, 0x202E, 0x2066, 0x2069, 0xD800, 0xDFFF, 0xFEFF, 0xFFFE, 0xFFFF, 0x1FFFF
      })
  void refusesWhatIsNotShownAsItIs(int codePoint) {
    String text = "a" + Character.toString(codePoint) + "b";
    assertThat(PlainText.isPlain(text)).isFalse();
    assertThatThrownBy(() -> PlainText.require("parameters: pool", text))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageStartingWith("parameters: pool must have no control characters")
        .hasMessageContaining(String.format("\"a\\u%04xb\"", codePoint));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "csi-vol-", "a b", "größe", "卷", "👩‍👩‍👧", "\uFFFD", "e\u0301"})
  void takesEveryOtherText(String text) {
    assertThat(PlainText.require("name", text)).isEqualTo(text);
  }

  @Test
  void showsBoundedTextInQuotes() {
    assertThat(PlainText.show("a\"\\\n")).isEqualTo("\"a\\\"\\\\\\u000a\"");
    assertThat(PlainText.show("x".repeat(5000))).isEqualTo("\"" + "x".repeat(100) + "...\"");
  }

  @Test
  void escapesToOneLine() {
    assertThat(PlainText.escape("a\nb\r\tc\0\u001b[2K\u202e"))
        .isEqualTo("a\\nb\\r\\tc\\u0000\\u001b[2K\\u202e");
    assertThat(PlainText.escape("größe")).isEqualTo("größe");
  }

  @ParameterizedTest
  @CsvSource({"abcdef, 6, abcdef", "abcdefg, 6, abc...", "abc, 3, abc", "abcd, 3, ..."})
  void escapesToBoundedText(String text, int limit, String shown) {
    assertThat(PlainText.escape(text, limit)).isEqualTo(shown);
    assertThat(PlainText.escape("\0".repeat(100), limit)).hasSizeLessThanOrEqualTo(limit);
  }
}
