package io.cephcsi.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Plots as SVG. */
final class Plot {
  private static final int WIDTH = 460;
  private static final int HEIGHT = 260;
  private static final int LEFT = 80;
  private static final int BOTTOM = 215;
  private static final int TOP = 40;
  private static final int RIGHT = 440;
  private static final List<String> COLORS = List.of("#c03", "#06c", "#090", "#b60");
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
    return draw(name + " (" + any.unit() + ")", x, labels, series);
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
    return draw(finding.title() + " (" + finding.unit() + ")", x, labels, series);
  }

  private static String draw(
      String title, double[] x, List<String> labels, Map<String, double[]> series) {
    double low = Double.MAX_VALUE;
    double high = 0;
    for (double[] figures : series.values()) {
      for (double figure : figures) {
        if (figure > 0) {
          low = Math.min(low, figure);
          high = Math.max(high, figure);
        }
      }
    }
    double bottom = Math.log(low) - 0.1;
    double scale = (BOTTOM - TOP) / (Math.log(high) + 0.1 - bottom);
    double span = Math.max(x[x.length - 1] - x[0], 1e-9);
    StringBuilder svg = new StringBuilder();
    svg.append(
        String.format(
            Locale.ROOT,
            "<svg width=\"%d\" height=\"%d\" font-size=\"12\"><text x=\"10\" y=\"18\">%s</text>",
            WIDTH,
            HEIGHT,
            Report.escaped(title)));
    for (double mark : new double[] {low, Math.sqrt(low * high), high}) {
      double y = BOTTOM - (Math.log(mark) - bottom) * scale;
      svg.append(
          String.format(
              Locale.ROOT,
              "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                  + "<text x=\"5\" y=\"%.1f\">%s</text>",
              LEFT,
              RIGHT,
              y,
              y,
              y + 4,
              Report.number(mark)));
    }
    for (int i = 0; i < x.length; i++) {
      svg.append(
          String.format(
              Locale.ROOT,
              "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
              LEFT + (x[i] - x[0]) / span * (RIGHT - LEFT - 20),
              BOTTOM + 18,
              labels.get(i)));
    }
    int number = 0;
    for (Map.Entry<String, double[]> line : series.entrySet()) {
      String color = COLORS.get(number % COLORS.size());
      StringBuilder points = new StringBuilder();
      for (int i = 0; i < x.length; i++) {
        if (line.getValue()[i] > 0) {
          points.append(
              String.format(
                  Locale.ROOT,
                  "%.1f,%.1f ",
                  LEFT + (x[i] - x[0]) / span * (RIGHT - LEFT - 20),
                  BOTTOM - (Math.log(line.getValue()[i]) - bottom) * scale));
        }
      }
      svg.append(
          String.format(
              Locale.ROOT,
              "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>"
                  + "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>",
              points,
              color,
              LEFT + number * 120,
              BOTTOM + 38,
              color,
              Report.escaped(line.getKey())));
      number++;
    }
    return svg.append("</svg>").toString();
  }
}
