package io.cephcsi.driver.tracker;

import io.cephcsi.testing.Fuzzing;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whatever stands in a tracker: it is read, or it is said to be damaged. */
class TrackerFuzzTest {
  @Test
  void decoderNeverFailsInAnotherWay() {
    Fuzzing.run(
        Objects.class,
        List.of(new byte[] {4, 0, 0, 0, 1, 4, 0, 0, 0, 1, 1, 'k', 1, 2}, new byte[9]));
  }

  /** Pieces behind their length: the version, the data, then keys and values. */
  public static final class Objects {
    private Objects() {}

    /** What the fuzzer calls. */
    @SuppressWarnings("CheckReturnValue")
    public static void fuzzerTestOneInput(byte[] input) {
      ByteBuffer in = ByteBuffer.wrap(input);
      Map<String, byte[]> xattrs = Map.of(TrackerCodec.VERSION_XATTR, piece(in));
      byte[] data = piece(in);
      Map<String, byte[]> omap = new HashMap<>();
      while (in.hasRemaining()) {
        omap.put(new String(piece(in), StandardCharsets.UTF_8), piece(in));
      }
      try {
        TrackerCodec.decode("tracker", 1, xattrs, data, omap);
      } catch (TrackerFormatException damaged) {
        damaged.getMessage();
      }
    }

    private static byte[] piece(ByteBuffer in) {
      byte[] piece = new byte[in.hasRemaining() ? Math.min(in.get() & 0xFF, in.remaining()) : 0];
      in.get(piece);
      return piece;
    }
  }
}
