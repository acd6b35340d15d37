package io.cephcsi.driver.node.fscrypt;

import java.io.IOException;

/**
 * What Argon2id costs.
 *
 * <pre>
 *   2 time   3 memory in KiB   4 parallelism   5 whether that is what Argon2 gets, not its last byte
 * </pre>
 *
 * @param time how often it goes over its memory
 * @param memoryKib how much memory it takes
 * @param lanes how many parts of the memory are worked on apart
 */
record HashCosts(int time, int memoryKib, int lanes) {
  /** Those of new volumes: as much memory as LUKS takes, and about half a second. */
  static final HashCosts USUAL = new HashCosts(8, 32 << 10, 1);

  private static final int MOST_MEMORY_KIB = 128 << 10; // what the fscrypt program takes at most
  private static final long MOST_WORK = 32L << 20; // KiB that are gone over: a minute or two
  private static final int MOST_LANES = 255;
  private static final int LEAST_KIB_OF_LANE = 8;

  /**
   * Reads them.
   *
   * @throws IOException for costs that no driver makes, or that a volume of somebody else is not to
   *     cause here
   */
  static HashCosts read(ProtoFields fields) throws IOException {
    int lanes = fields.count(4);
    HashCosts costs =
        new HashCosts(
            fields.count(2), fields.count(3), fields.number(5) != 0 ? lanes : lanes & 0xff);
    if (costs.time < 1
        || costs.lanes < 1
        || costs.lanes > MOST_LANES
        || costs.memoryKib < LEAST_KIB_OF_LANE * costs.lanes) {
      throw new IOException("the costs of its passphrase are no costs of Argon2");
    }
    if (costs.memoryKib > MOST_MEMORY_KIB || (long) costs.time * costs.memoryKib > MOST_WORK) {
      throw new IOException(
          "its passphrase takes too much memory or time: "
              + costs.memoryKib
              + " KiB, "
              + costs.time
              + " times");
    }
    return costs;
  }

  byte[] encode() {
    return new ProtoFields.Writer().number(2, time).number(3, memoryKib).number(4, lanes).toBytes();
  }
}
