package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DirectoryValueTest {
  private static final String TEXT = "d006837f-8023-4d3f-9c17-7264f6ccbe95";
  private static final UUID SOME = UUID.fromString(TEXT);

  @Test
  void inOnePoolTheValueIsTheUuid() {
    assertThat(new DirectoryValue(SOME, 7).encode(7)).isEqualTo(TEXT.getBytes(US_ASCII));
    assertThat(DirectoryValue.decode(TEXT, 7)).isEqualTo(new DirectoryValue(SOME, 7));
  }

  @Test
  void theImagesPoolStandsBeforeTheUuidWhereItIsAnother() {
    String text = "000000000000001f/" + TEXT;
    assertThat(new DirectoryValue(SOME, 31).encode(7)).isEqualTo(text.getBytes(US_ASCII));
    assertThat(DirectoryValue.decode(text, 7)).isEqualTo(new DirectoryValue(SOME, 31));
  }

  @Test
  void valuesOfCephCsiAreReadAndWrittenTheSame() {
    Golden.journal("RBD CreateVolume pvc-3 from pvc-1")
        .get("csi.volumes.default")
        .values()
        .forEach(
            value ->
                assertThat(DirectoryValue.decode(value, 1).encode(1))
                    .isEqualTo(value.getBytes(US_ASCII)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "x",
        "d006837f-8023-4d3f-9c17-7264f6ccbe9",
        "d006837f-8023-4d3f-9c17-7264f6ccbe955",
        "g006837f-8023-4d3f-9c17-7264f6ccbe95",
        "d006837f8-023-4d3f-9c17-7264f6ccbe95", // Java's own parser takes this for another uuid
        "D006837F-8023-4D3F-9C17-7264F6CCBE95", // no such object: names are lower case
        "+006837f-8023-4d3f-9c17-7264f6ccbe95",
        "000000000000001f-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "00000000000001f/d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "000000000000001F/d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "00000000000000zz/d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "000000000000001f/",
        "000000000000001f/d006837f-8023-4d3f-9c17-7264f6ccbe9x",
        "000000000000001f/d006837f8-023-4d3f-9c17-7264f6ccbe95",
        " d006837f-8023-4d3f-9c17-7264f6ccbe9",
        "d006837f-8023-4d3f-9c17-7264f6ccbe95\n"
      })
  void anythingElseIsDamageAndNotGuessedAt(String text) {
    assertThatThrownBy(() -> DirectoryValue.decode(text, 7))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining("damaged")
        .hasMessageContaining(PlainText.show(text));
  }
}
