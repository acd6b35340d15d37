package io.cephcsi.driver.reclaim.luks;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What is taken of a header, which anybody may have written who may write the image.
 *
 * @param ciphers of the data and of the slots
 * @param onlyKnown whether all that is in the header must be known: cryptsetup uses all of it
 * @param memoryKib the memory of Argon2
 * @param workKib its memory times its passes
 * @param iterations of PBKDF2
 * @param digestIterations of the digest's, which cryptsetup lets take an eighth of a second
 * @param mostOffset where the data begin, in bytes
 */
record LuksLimits(
    SortedSet<String> ciphers,
    boolean onlyKnown,
    int memoryKib,
    long workKib,
    int iterations,
    int digestIterations,
    long mostOffset) {
  private static final String AES = "aes-xts-plain64";

  /** Those that ceph-csi and this driver use; another may be for emergencies. */
  private static final List<String> SLOTS = List.of("0", "1");

  /** For reading in this process. It is what drivers make: more could stop the driver. */
  static final LuksLimits OFFLINE =
      new LuksLimits(
          new TreeSet<>(List.of(AES)),
          false,
          32 << 10,
          16L << 20,
          20_000_000,
          5_000_000,
          Long.MAX_VALUE);

  /** For cryptsetup on a node. Its luksFormat takes 1 GiB and two seconds by default. */
  static final LuksLimits NODE =
      new LuksLimits(
          new TreeSet<>(List.of(AES, "serpent-xts-plain64")),
          true,
          1 << 20,
          64L << 20,
          50_000_000,
          50_000_000,
          64L << 20);

  /** The names of the slots that are looked at. */
  List<String> slots(JsonNode slots) {
    if (!onlyKnown) {
      return SLOTS.stream().filter(slots::has).toList();
    }
    List<String> names = new ArrayList<>();
    slots.fieldNames().forEachRemaining(names::add);
    return names;
  }
}
