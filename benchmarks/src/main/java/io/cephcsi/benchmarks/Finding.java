package io.cephcsi.benchmarks;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * What a question found: a figure for each round, and those of others that took turns with it.
 *
 * @param id short and stable, such as {@code discard-64}
 * @param title the question in a few words
 * @param unit of the figures
 * @param rate whether more is better, as of objects a second; else less is, as of milliseconds
 * @param ours the driver's figures, one a round
 * @param others those of others by their names, of the same rounds
 * @param limits what must hold
 */
@SuppressWarnings("ArrayRecordComponent") // read, never compared
record Finding(
    String id,
    String title,
    String unit,
    boolean rate,
    double[] ours,
    Map<String, double[]> others,
    Map<String, Double> limits) {
  /** The name of the programs in C. */
  static final String C = "C";

  /** The name of a limit of the figure itself, instead of a ratio to somebody. */
  static final String ITSELF = "itself";

  static Finding rate(String id, String title, String unit, double... ours) {
    return new Finding(id, title, unit, true, ours, Map.of(), Map.of());
  }

  static Finding time(String id, String title, String unit, double... ours) {
    return new Finding(id, title, unit, false, ours, Map.of(), Map.of());
  }

  Finding beside(String name, double... figures) {
    if (figures.length != ours.length) {
      throw new IllegalArgumentException(id + ": rounds are missing");
    }
    Map<String, double[]> more = new LinkedHashMap<>(others);
    more.put(name, figures);
    return new Finding(id, title, unit, rate, ours, more, limits);
  }

  /** Must be at least so many times as fast as another. */
  Finding atLeast(String other, double ratio) {
    return limit(other, ratio);
  }

  /** The median must not be worse. */
  Finding withinItself(double figure) {
    return limit(ITSELF, figure);
  }

  private Finding limit(String name, double value) {
    Map<String, Double> more = new LinkedHashMap<>(limits);
    more.put(name, value);
    return new Finding(id, title, unit, rate, ours, others, more);
  }

  double median() {
    return percentile(ours, 50);
  }

  /**
   * How many times as fast as another it is: the median of the rounds' ratios, as a machine that
   * gets busier gets busier for both.
   */
  double ratio(String other) {
    return percentile(ratios(other), 50);
  }

  double[] ratios(String other) {
    double[] theirs = others.get(other);
    if (theirs == null) {
      throw new IllegalArgumentException(id + " is not compared with " + other);
    }
    return IntStream.range(0, ours.length)
        .mapToDouble(i -> rate ? ours[i] / theirs[i] : theirs[i] / ours[i])
        .toArray();
  }

  /** Half the distance between the quartiles of the rounds' ratios. */
  double spread(String other) {
    double[] ratios = ratios(other);
    return (percentile(ratios, 75) - percentile(ratios, 25)) / 2;
  }

  /** Whether a limit holds; empty if there is none of the name. */
  OptionalDouble limit(String name) {
    Double value = limits.get(name);
    return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
  }

  boolean holds(String name) {
    double bound = limit(name).orElseThrow();
    if (!name.equals(ITSELF)) {
      return ratio(name) >= bound;
    }
    return rate ? median() >= bound : median() <= bound;
  }

  static double percentile(double[] values, int percent) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
  }
}
