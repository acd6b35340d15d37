package io.cephcsi.driver.plot;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LinePlotTest {
  @Test
  void everyFigureIsAPoint() {
    String svg =
        new LinePlot(
                "t",
                new double[] {1, 2, 3},
                List.of("a", "b", "c"),
                Map.of("s", new double[] {1, 10, 100}))
            .svg();
    assertThat(svg).startsWith("<svg").endsWith("</svg>").contains("<polyline points=\"80.0,");
    assertThat(svg.split("<circle", -1)).hasSize(4);
    assertThat(svg).doesNotContain("NaN", "Infinity");
  }

  @Test
  void whatIsNoPositiveNumberIsLeftOut() {
    double[] figures = {0, Double.NaN, Double.POSITIVE_INFINITY, -1, 5};
    String svg =
        new LinePlot(
                "t",
                new double[] {1, 1, 1, 1, 1},
                List.of("a", "b", "c", "d", "e"),
                Map.of("s", figures))
            .svg();
    assertThat(svg.split("<circle", -1)).hasSize(2);
    assertThat(svg).doesNotContain("NaN", "Infinity");
    assertThat(new LinePlot("t", new double[] {1}, List.of("a"), Map.of("s", new double[1])).svg())
        .isEmpty();
  }

  @Test
  void textIsEscaped() {
    String svg =
        new LinePlot("<b>", new double[] {1}, List.of("\"&"), Map.of("</svg>", new double[] {1}))
            .svg();
    assertThat(svg).contains("&lt;b&gt;", "&quot;&amp;", "&lt;/svg&gt;").doesNotContain("<b>");
  }
}
