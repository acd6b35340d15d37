package io.cephcsi.benchmarks;

import io.cephcsi.driver.plot.LinePlot;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Plots of findings, as SVG. */
final class Plot {
  private static final int[] PERCENTS = {1, 10, 25, 50, 75, 90, 95, 99};

  private Plot() {}

  /** The medians of ours and of others over a number, such as a depth; both axes logarithmic. */
  static String lines(String name, Map<Long, Finding> family) {
    Map<String, double[]> series = new LinkedHashMap<>();
    List<String> labels = new ArrayList<>();
    double[] x = new double[family.size()];
    Finding any = family.values().iterator().next();
    series.put("driver", new double[x.length]);
    any.others().keySet().forEach(other -> series.put(other, new double[x.length]));
    int i = 0;
    for (Map.Entry<Long, Finding> one : family.entrySet()) {
      x[i] = Math.log(one.getKey());
      labels.add(Long.toString(one.getKey()));
      for (Map.Entry<String, double[]> line : series.entrySet()) {
        double[] theirs = one.getValue().others().get(line.getKey());
        line.getValue()[i] =
            line.getKey().equals("driver")
                ? one.getValue().median()
                : theirs == null ? Double.NaN : Finding.percentile(theirs, 50);
      }
      i++;
    }
    return new LinePlot(name + " (" + any.unit() + ")", x, labels, series).svg();
  }

  /** The percentiles of the rounds. */
  static String percentiles(Finding finding) {
    double[] x = new double[PERCENTS.length];
    List<String> labels = new ArrayList<>();
    Map<String, double[]> series = new LinkedHashMap<>();
    series.put("driver", new double[x.length]);
    finding.others().keySet().forEach(other -> series.put(other, new double[x.length]));
    for (int i = 0; i < x.length; i++) {
      x[i] = i;
      labels.add("p" + PERCENTS[i]);
      for (Map.Entry<String, double[]> line : series.entrySet()) {
        double[] figures = finding.others().getOrDefault(line.getKey(), finding.ours());
        line.getValue()[i] = Finding.percentile(figures, PERCENTS[i]);
      }
    }
    return new LinePlot(finding.title() + " (" + finding.unit() + ")", x, labels, series).svg();
  }
}
