package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FsckExpectationTest {
  @ParameterizedTest
  @CsvSource({
    "10Gi, 10737418240",
    "1, 1",
    "16Mi, 16777216",
    "1.5Ki, 1536",
    "2k, 2000",
    "3E, 3000000000000000000",
    "99Ei, 9223372036854775807",
    "'', 0",
    "ten, 0",
    "-1, 0",
    "1m, 0",
    "1e3, 0"
  })
  void quantitiesAreThoseOfKubernetes(String quantity, long bytes) {
    assertThat(FsckExpectation.bytes(quantity)).isEqualTo(bytes);
  }
}
