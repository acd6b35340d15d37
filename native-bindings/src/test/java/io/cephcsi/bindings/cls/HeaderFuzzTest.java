package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.testing.Fuzzing;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever stands in the objects of an image: it is read, or it is said to be damaged. */
class HeaderFuzzTest {
  private static final int KINDS = 7;

  @Test
  void decodersNeverFailInAnotherWay() {
    ClassCall snapshot =
        content()
            .u64(7)
            .structure(1, 1, content().u32(0))
            .string("snap")
            .u64(1 << 20)
            .time(Instant.EPOCH);
    ClassCall migration = content().u8(2).u64(3).string("ns").string("name").string("id");
    migration.u32(1).u64(1).u64(2).u64(0).u8(0).u8(0).u8(2).string("").u8(0).string("{}");
    Fuzzing.run(
        Headers.class,
        List.of(
            seed(0, content().structure(1, 1, content().u64(3).string("ns").string("id").u64(4))),
            seed(1, content().structure(1, 1, content().u64(3).string("group"))),
            seed(2, content().u64(9).u32(2).u64(9).u64(7)),
            seed(3, content().structure(1, 1, snapshot)),
            seed(4, content().u32(1).structure(1, 1, content().u64(3).string("id").string(""))),
            seed(
                5,
                content()
                    .u32(1)
                    .structure(
                        1, 1, content().structure(1, 1, content().string("id").u64(3)).u8(0))),
            seed(6, content().structure(3, 1, migration))));
  }

  private static ClassCall content() {
    return ClassCall.content();
  }

  private static byte[] seed(int kind, ClassCall content) {
    byte[] input = content.input();
    byte[] seed = new byte[input.length + 1];
    seed[0] = (byte) kind;
    System.arraycopy(input, 0, seed, 1, input.length);
    return seed;
  }

  /** The first byte says which decoder gets the others. */
  public static final class Headers {
    private Headers() {}

    /** What the fuzzer calls. */
    public static void fuzzerTestOneInput(byte[] input) {
      if (input.length == 0) {
        return;
      }
      byte[] encoded = Arrays.copyOfRange(input, 1, input.length);
      try {
        switch (Math.floorMod(input[0], KINDS)) {
          case 0 -> ImageHeader.parent(encoded);
          case 1 -> ImageHeader.group(encoded);
          case 2 -> ImageHeader.snapshotIds(encoded);
          case 3 -> ImageHeader.snapshot(encoded);
          case 4 -> ImageHeader.children(encoded);
          case 5 -> GroupHeader.members(encoded);
          default -> MigrationHeader.decode(encoded);
        }
      } catch (CephException damaged) {
        damaged.errno();
      }
    }
  }
}
