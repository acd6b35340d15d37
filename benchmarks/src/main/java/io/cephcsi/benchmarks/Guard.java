package io.cephcsi.benchmarks;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The ratios that runs should reach, and how far they differ from run to run without a reason. Only
 * ratios: absolute figures are the machine's.
 *
 * @param ratios by {@code FINDING beside OTHER}
 */
record Guard(Map<String, Expected> ratios) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
  private static final double LEAST_BAND = 0.15; // of the ratio: what a busy neighbour does

  /**
   * What is expected.
   *
   * @param ratio the median of runs
   * @param band by how much a run may fall below it
   */
  record Expected(double ratio, double band) {}

  /**
   * The medians of several runs, and as bands the distance of the lowest from it, and half more.
   */
  static Guard of(List<List<Finding>> runs) {
    Map<String, List<Double>> all = new TreeMap<>();
    for (List<Finding> run : runs) {
      for (Finding finding : run) {
        finding
            .others()
            .keySet()
            .forEach(
                other ->
                    all.computeIfAbsent(key(finding, other), key -> new ArrayList<>())
                        .add(finding.ratio(other)));
      }
    }
    Map<String, Expected> ratios = new TreeMap<>();
    all.forEach(
        (key, values) -> {
          double[] found = values.stream().mapToDouble(Double::doubleValue).toArray();
          double median = Finding.percentile(found, 50);
          double lowest = Finding.percentile(found, 0);
          double band = Math.max(LEAST_BAND * median, 1.5 * (median - lowest));
          ratios.put(key, new Expected(rounded(median), rounded(band)));
        });
    return new Guard(ratios);
  }

  static Guard load(Path file) throws IOException {
    return new Guard(JSON.readValue(file.toFile(), new TypeReference<>() {}));
  }

  void save(Path file) throws IOException {
    JSON.writeValue(file.toFile(), ratios);
  }

  /** A line for each ratio that is below what is expected, less its band. */
  List<String> fallen(List<Finding> findings) {
    List<String> fallen = new ArrayList<>();
    for (Finding finding : findings) {
      for (String other : finding.others().keySet()) {
        Expected expected = ratios.get(key(finding, other));
        double ratio = finding.ratio(other);
        if (expected != null && ratio < expected.ratio() - expected.band()) {
          fallen.add(
              String.format(
                  Locale.ROOT,
                  "%s: %.2f, expected %.2f and at least %.2f",
                  key(finding, other),
                  ratio,
                  expected.ratio(),
                  expected.ratio() - expected.band()));
        }
      }
    }
    return fallen;
  }

  private static String key(Finding finding, String other) {
    return finding.id() + " beside " + other;
  }

  private static double rounded(double value) {
    return Math.round(value * 1000) / 1000.0;
  }
}
