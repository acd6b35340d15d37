package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MonitorAddressTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mon-a.example.com | mon-a.example.com:3300,6789",
        "mon_a:6789 | mon_a:6789",
        "10.0.0.1:3300/0 | 10.0.0.1:3300",
        "v1:10.0.0.1:6789 | 10.0.0.1:6789",
        "any:10.0.0.1 | 10.0.0.1:3300,6789",
        "[::1] | ::1:3300,6789",
        "[fd00::1]:6789/0 | fd00::1:6789",
        "v2:[fd00::1]:3300 | fd00::1:3300",
        "fd00::1 | fd00::1:3300,6789",
        "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] | 10.0.0.1:3300 10.0.0.1:6789",
        "[v2:[::1]:3300/0,v1:[::1]:6789/0] | ::1:3300 ::1:6789",
        "a:1,b:2;c:3 d | a:1 b:2 c:3 d:3300,6789",
        "[v2:a:1],[v2:b:2] | a:1 b:2"
      })
  void whatMonHostTakesIsRead(String text, String expected) {
    assertThat(
            MonitorAddress.parse(text).stream()
                .map(
                    a ->
                        a.host()
                            + ":"
                            + String.join(",", a.ports().stream().map(String::valueOf).toList()))
                .toList())
        .isEqualTo(List.of(expected.split(" ", -1)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        ",",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:70000",
        "10.0.0.1:port",
        "[::1",
        "a b:c",
        "http://mon",
        "mon!",
        "[v2:10.0.0.1:3300/0",
        "-mon"
      })
  void whatIsNoAddressIsRefused(String text) {
    assertThatThrownBy(() -> MonitorAddress.parse(text))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
