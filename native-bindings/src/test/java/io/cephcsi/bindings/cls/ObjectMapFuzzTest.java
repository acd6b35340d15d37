package io.cephcsi.bindings.cls;

import io.cephcsi.testing.Fuzzing;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever stands in an object map: it is used, or it is not. */
class ObjectMapFuzzTest {
  @Test
  void decoderNeverFails() {
    ByteBuffer map = ByteBuffer.allocate(40).order(ByteOrder.LITTLE_ENDIAN);
    map.putInt(2, 14).put(7, (byte) 1).putLong(12, 5).putInt(22, 8).putInt(30, 1);
    Fuzzing.run(Maps.class, List.of(map.array(), new byte[0]));
  }

  /** The first two bytes say how many objects the image has. */
  public static final class Maps {
    private Maps() {}

    /** What the fuzzer calls. */
    @SuppressWarnings("CheckReturnValue")
    public static void fuzzerTestOneInput(byte[] input) {
      if (input.length < 2) {
        return;
      }
      ObjectMap.decode(
          Arrays.copyOfRange(input, 2, input.length), ByteBuffer.wrap(input).getShort() & 0xFFFF);
    }
  }
}
