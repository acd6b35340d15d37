package io.cephcsi.testing;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/**
 * The random values of one try at a property. All of a run come from {@code CEPH_CSI_TEST_SEED},
 * which {@code ci/test} prints and {@code ci/test --seed} repeats; without it, from the clock.
 */
public final class Tries {
  private static final long SEED = seed();

  private final Random random;

  private Tries(long seed) {
    this.random = new Random(seed);
  }

  private static long seed() {
    String given = System.getenv("CEPH_CSI_TEST_SEED");
    return given == null || given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
  }

  /** What must hold for all values. */
  public interface Property {
    void holdsFor(Tries values) throws Exception;
  }

  /**
   * Tries a property many times.
   *
   * @throws AssertionError that says how to repeat the run, when it does not hold
   */
  public static void times(int count, Property property) {
    Random seeds = new Random(SEED);
    for (int i = 0; i < count; i++) {
      try {
        property.holdsFor(new Tries(seeds.nextLong()));
      } catch (Exception | AssertionError e) {
        throw new AssertionError(
            "try " + (i + 1) + " of " + count + " with CEPH_CSI_TEST_SEED=" + SEED, e);
      }
    }
  }

  /** A number from one to another, both included; the ends come more often than others. */
  public long between(long from, long to) {
    return switch (random.nextInt(16)) {
      case 0 -> from;
      case 1 -> to;
      default -> random.nextLong(from, to + 1);
    };
  }

  /** As {@link #between(long, long)}. */
  public int between(int from, int to) {
    return (int) between((long) from, (long) to);
  }

  /** Any number. */
  public long number() {
    return random.nextLong();
  }

  /** Yes or no. */
  public boolean either() {
    return random.nextBoolean();
  }

  /** So many bytes at most. */
  public byte[] bytes(int most) {
    byte[] bytes = new byte[between(0, most)];
    random.nextBytes(bytes);
    return bytes;
  }

  /** One of these. */
  public <T> T oneOf(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }

  /** Some of these, each once, in any order. */
  public <T> List<T> someOf(List<T> values, int least, int most) {
    List<T> all = new ArrayList<>(values);
    Collections.shuffle(all, random);
    return List.copyOf(all.subList(0, between(least, most)));
  }

  /** A list of values. */
  public <T> List<T> list(int least, int most, Supplier<T> value) {
    List<T> list = new ArrayList<>();
    for (int i = between(least, most); i > 0; i--) {
      list.add(value.get());
    }
    return list;
  }
}
