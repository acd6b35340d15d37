package io.cephcsi.driver.fence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CidrTest {
  @ParameterizedTest
  @CsvSource({
    "192.0.2.0/24, 192.0.2.0/24",
    "0.0.0.0/0, 0.0.0.0/0",
    "255.255.255.255/32, 255.255.255.255/32",
    "2001:db8::/48, 2001:db8:0:0:0:0:0:0/48",
    "FD00::1/128, fd00:0:0:0:0:0:0:1/128",
  })
  void rangesAreReadAndWrittenAlike(String text, String written) {
    Cidr range = Cidr.parse(text);
    assertThat(range).hasToString(written);
    assertThat(Cidr.parse(range.toString())).isEqualTo(range);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "192.0.2.0",
        "192.0.2/24",
        "192.0.2.0/",
        "192.0.2.0/-1",
        "192.0.2.0/33",
        "192.0.2.0/024x",
        "192.0.2.256/32",
        "192.0.02.0/24",
        "192.0.2.1/24",
        "0.0.0.1/0",
        "localhost/32",
        "abcd/32",
        "2001:db8::1/64",
        "2001:db8::/129",
        "2001:db8:::/48",
        "fe80::1%lo/128",
        "::ffff:192.0.2.1/128",
        "[fd00::1]/128",
        "10.0.0.0/24,10.0.1.0/24",
        " 10.0.0.0/24",
        "10.0.0.0/24\n",
        "10.0.0.0/24\u0000",
      })
  void whatIsNoRangeIsRefused(String text) {
    assertThatThrownBy(() -> Cidr.parse(text))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
  }

  @ParameterizedTest
  @CsvSource({
    "192.0.2.0/24, 192.0.2.0, true",
    "192.0.2.0/24, 192.0.2.255, true",
    "192.0.2.0/24, 192.0.3.0, false",
    "192.0.2.0/24, 192.0.1.255, false",
    "192.0.2.7/32, 192.0.2.7, true",
    "192.0.2.7/32, 192.0.2.6, false",
    "0.0.0.0/0, 203.0.113.9, true",
    "0.0.0.0/0, ::1, false",
    "fd00::/48, fd00:0:0:ffff::1, true",
    "fd00::/48, fd00:0:1::1, false",
  })
  void anAddressLiesInARangeOrNot(String range, String address, boolean inside) throws Exception {
    assertThat(Cidr.parse(range).contains(InetAddress.getByName(address))).isEqualTo(inside);
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.0/24, 10.0.0.128/25, true",
    "10.0.0.0/24, 10.0.0.0/24, true",
    "10.0.0.0/24, 10.0.0.0/23, false",
    "10.0.0.0/24, 10.0.1.0/25, false",
    "::/0, 10.0.0.0/24, false",
  })
  void aRangeLiesInARangeOrNot(String range, String other, boolean inside) {
    assertThat(Cidr.parse(range).contains(Cidr.parse(other))).isEqualTo(inside);
  }

  @Test
  void oneAddressIsARange() throws Exception {
    assertThat(Cidr.of(InetAddress.getByName("192.0.2.7"))).hasToString("192.0.2.7/32");
    assertThat(Cidr.of(InetAddress.getByName("fd00::7"))).hasToString("fd00:0:0:0:0:0:0:7/128");
  }
}
