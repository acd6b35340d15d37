package io.cephcsi.driver.plot;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Figures as lines over something, as SVG; the axis of the figures is logarithmic. Immutable. */
public final class LinePlot {
  private static final int WIDTH = 460;
  private static final int HEIGHT = 260;
  private static final int LEFT = 80;
  private static final int BOTTOM = 215;
  private static final int TOP = 40;
  private static final int RIGHT = 440;
  private static final int LEGEND = 100;
  private static final List<String> COLORS = List.of("#c03", "#06c", "#090", "#b60");

  private final String title;
  private final double[] x;
  private final List<String> labels;
  private final Map<String, double[]> series;

  /**
   * @param title with the unit
   * @param x where the figures stand, ascending
   * @param labels what is written there, as many
   * @param series as many figures for each name; those that are not positive numbers are left out
   */
  public LinePlot(String title, double[] x, List<String> labels, Map<String, double[]> series) {
    this.title = title;
    this.x = x.clone();
    this.labels = List.copyOf(labels);
    this.series = new LinkedHashMap<>();
    series.forEach((name, figures) -> this.series.put(name, figures.clone()));
  }

  /** The plot as an element of HTML; empty if there is nothing to show. */
  public String svg() {
    double low = Double.MAX_VALUE;
    double high = 0;
    for (double[] figures : series.values()) {
      for (double figure : figures) {
        if (isShown(figure)) {
          low = Math.min(low, figure);
          high = Math.max(high, figure);
        }
      }
    }
    return high == 0 ? "" : svg(low, high);
  }

  private static boolean isShown(double figure) {
    return figure > 0 && figure < Double.MAX_VALUE;
  }

  private String svg(double low, double high) {
    double bottom = Math.log(low) - 0.1;
    double scale = (BOTTOM - TOP) / (Math.log(high) + 0.1 - bottom);
    StringBuilder svg = new StringBuilder();
    add(
        svg,
        "<svg width=\"%d\" height=\"%d\" font-size=\"12\"><text x=\"10\" y=\"18\">%s</text>",
        WIDTH,
        HEIGHT,
        escaped(title));
    for (double mark : new double[] {low, Math.sqrt(low * high), high}) {
      double y = BOTTOM - (Math.log(mark) - bottom) * scale;
      add(
          svg,
          "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
              + "<text x=\"5\" y=\"%.1f\">%s</text>",
          LEFT,
          RIGHT,
          y,
          y,
          y + 4,
          number(mark));
    }
    for (int i = 0; i < x.length; i++) {
      add(
          svg,
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
          place(i),
          BOTTOM + 18,
          escaped(labels.get(i)));
    }
    int number = 0;
    for (Map.Entry<String, double[]> line : series.entrySet()) {
      String color = COLORS.get(number % COLORS.size());
      List<String> points = new ArrayList<>();
      for (int i = 0; i < x.length; i++) {
        double figure = line.getValue()[i];
        if (isShown(figure)) {
          double y = BOTTOM - (Math.log(figure) - bottom) * scale;
          points.add(String.format(Locale.ROOT, "%.1f,%.1f", place(i), y));
          add(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>", place(i), y, color);
        }
      }
      add(
          svg,
          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>"
              + "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>",
          String.join(" ", points),
          color,
          LEFT + number * LEGEND,
          BOTTOM + 38,
          color,
          escaped(line.getKey()));
      number++;
    }
    return svg.append("</svg>").toString();
  }

  private double place(int i) {
    double span = Math.max(x[x.length - 1] - x[0], 1e-9);
    return LEFT + (x[i] - x[0]) / span * (RIGHT - LEFT - 20);
  }

  private static void add(StringBuilder svg, String format, Object... values) {
    svg.append(String.format(Locale.ROOT, format, values));
  }

  /** A number with as many digits as matter. */
  public static String number(double value) {
    double size = Math.abs(value);
    String format = size >= 100 ? "%,.0f" : size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.4f";
    return String.format(Locale.ROOT, format, value);
  }

  /** Text as HTML shows it, in elements and in attributes with double quotes. */
  public static String escaped(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
