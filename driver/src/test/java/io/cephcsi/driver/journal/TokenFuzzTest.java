package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.Fuzzing;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever stands in a token or an identifier: it is one, or it is refused. */
class TokenFuzzTest {
  @Test
  void parsersNeverFailInAnotherWay() {
    Fuzzing.run(
        Texts.class,
        List.of(
            ListPosition.behind(JournalKind.VOLUME, "cluster", 3, "pvc").token().getBytes(UTF_8),
            "0001-0003-abc-0000000000000001-00000000-0000-0007-0000-000000000007".getBytes(UTF_8)));
  }

  /** The input is the text. */
  public static final class Texts {
    private Texts() {}

    /** What the fuzzer calls. */
    public static void fuzzerTestOneInput(byte[] input) {
      String text = new String(input, UTF_8);
      VolumeId.parse(text)
          .ifPresent(
              id -> {
                if (!id.toString().equals(text)) {
                  throw new AssertionError(text + " is read as " + id);
                }
              });
      try {
        ListPosition position = ListPosition.parse(JournalKind.VOLUME, text);
        if (position.token().length() > 128) {
          throw new AssertionError(text + " makes a token that is too long");
        }
      } catch (VolumeException refused) {
        refused.reason();
      }
    }
  }
}
