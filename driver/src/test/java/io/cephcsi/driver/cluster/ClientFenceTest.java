package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClientFenceTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "10.0.0.5:0/123",
        "v1:10.0.0.5:0/123",
        "v2:127.0.0.1:0/4294967295",
        "[2001:db8::1]:0/7",
        "v2:[fe80::1]:0/7"
      })
  void oneClientIsOne(String address) {
    assertThat(ClientFence.isClient(address)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-",
        "10.0.0.5",
        "10.0.0.5:0/0", // all of a host
        "10.0.0.0/8",
        "10.0.0.5:3300/0", // a monitor
        "10.0.0.5:6800/123456", // an OSD
        "10.0.0.5:0/123\n",
        "10.0.0.5:0/123\", \"range\": \"range",
        "[v2:10.0.0.5:0/1,v1:10.0.0.5:0/1]",
        "none/0"
      })
  void nothingElseIs(String address) {
    assertThat(ClientFence.isClient(address)).isFalse();
  }
}
