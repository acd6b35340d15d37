package io.cephcsi.benchmarks;

import static io.cephcsi.driver.plot.LinePlot.escaped;
import static io.cephcsi.driver.plot.LinePlot.number;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What was found, as JSON, as a table in Markdown and as one page of HTML that needs nothing else.
 *
 * @param findings in the order of the questions
 * @param machine what was measured on
 * @param flames a page of HTML; empty for none
 */
record Report(List<Finding> findings, Map<String, String> machine, String flames) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
  private static final Pattern NUMBERED = Pattern.compile("(.+)-(\\d+)");

  /** Writes {@code report.json}, {@code report.md} and {@code report.html}. */
  void write(Path folder) throws IOException {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("machine", machine);
    all.put("findings", findings.stream().map(Report::facts).toList());
    JSON.writeValue(folder.resolve("report.json").toFile(), all);
    Files.writeString(folder.resolve("report.md"), markdown());
    Files.writeString(folder.resolve("report.html"), html());
  }

  private static Map<String, Object> facts(Finding finding) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("id", finding.id());
    facts.put("title", finding.title());
    facts.put("unit", finding.unit());
    facts.put("moreIsBetter", finding.rate());
    facts.put("median", finding.median());
    facts.put("p99", Finding.percentile(finding.ours(), 99));
    facts.put("rounds", finding.ours());
    Map<String, Object> others = new LinkedHashMap<>();
    finding
        .others()
        .forEach(
            (name, figures) ->
                others.put(
                    name,
                    Map.of(
                        "median",
                        Finding.percentile(figures, 50),
                        "ratio",
                        finding.ratio(name),
                        "spread",
                        finding.spread(name),
                        "rounds",
                        figures)));
    facts.put("others", others);
    Map<String, Object> limits = new LinkedHashMap<>();
    finding
        .limits()
        .forEach(
            (name, bound) ->
                limits.put(name, Map.of("bound", bound, "holds", finding.holds(name))));
    facts.put("limits", limits);
    return facts;
  }

  /** The table. */
  String markdown() {
    StringBuilder text = new StringBuilder();
    machine.forEach((name, value) -> text.append(name).append(": ").append(value).append("  \n"));
    text.append("\n| question | median | p99 | beside | speed ratio | limit |\n");
    text.append("|---|---|---|---|---|---|\n");
    for (Finding finding : findings) {
      List<List<String>> rows = rows(finding);
      rows.forEach(row -> text.append("| ").append(String.join(" | ", row)).append(" |\n"));
    }
    return text.toString();
  }

  /** A row for each comparison; a finding that is not compared has one. */
  private static List<List<String>> rows(Finding finding) {
    String median = number(finding.median()) + " " + finding.unit();
    String p99 = number(Finding.percentile(finding.ours(), 99));
    List<List<String>> rows = new ArrayList<>();
    finding
        .others()
        .forEach(
            (name, figures) ->
                rows.add(
                    List.of(
                        finding.title(),
                        median,
                        p99,
                        name + ": " + number(Finding.percentile(figures, 50)),
                        number(finding.ratio(name)) + " ± " + number(finding.spread(name)),
                        limit(finding, name, "at least "))));
    if (rows.isEmpty() || finding.limit(Finding.ITSELF).isPresent()) {
      rows.add(
          List.of(
              finding.title(),
              median,
              p99,
              "",
              "",
              limit(finding, Finding.ITSELF, finding.rate() ? "at least " : "at most ")));
    }
    return rows;
  }

  private static String limit(Finding finding, String name, String words) {
    return finding.limit(name).isEmpty()
        ? ""
        : words
            + number(finding.limit(name).getAsDouble())
            + (finding.holds(name) ? ": holds" : ": **missed**");
  }

  private String html() {
    StringBuilder page = new StringBuilder();
    page.append(
        """
        <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>ceph-csi benchmarks</title>
        <style>
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; color: #222; }
        table { border-collapse: collapse; } td, th { padding: .25em .8em; text-align: left; border-bottom: 1px solid #ddd; }
        .missed { color: #b00; font-weight: bold; } .holds { color: #070; }
        svg { margin: 1em 1em 1em 0; background: #fafafa; } iframe { width: 100%; height: 40em; border: 1px solid #ddd; }
        </style></head><body><h1>ceph-csi benchmarks</h1><p>
        """);
    machine.forEach(
        (name, value) ->
            page.append(escaped(name)).append(": ").append(escaped(value)).append("<br>"));
    page.append("</p><table><tr><th>question<th>median<th>p99<th>beside<th>speed ratio<th>limit");
    for (Finding finding : findings) {
      for (List<String> row : rows(finding)) {
        page.append("<tr>");
        for (String cell : row) {
          String style =
              cell.endsWith("**missed**") ? "missed" : cell.endsWith("holds") ? "holds" : "";
          page.append("<td class=\"").append(style).append("\">");
          page.append(escaped(cell.replace("**", "")));
        }
      }
    }
    page.append("</table><h2>Throughput by depth, cost by number of objects</h2>");
    families().forEach((name, family) -> page.append(Plot.lines(name, family)));
    page.append("<h2>Distribution of the rounds</h2>");
    findings.stream()
        .filter(finding -> finding.ours().length >= 10)
        .forEach(finding -> page.append(Plot.percentiles(finding)));
    if (!flames.isEmpty()) {
      page.append("<h2>Where the benchmarks' JVM spends its time</h2><iframe srcdoc=\"");
      page.append(escaped(flames)).append("\"></iframe>");
    }
    return page.append("</body></html>\n").toString();
  }

  /** Findings of the same question at several depths or sizes. */
  private Map<String, Map<Long, Finding>> families() {
    Map<String, Map<Long, Finding>> families = new LinkedHashMap<>();
    for (Finding finding : findings) {
      Matcher matcher = NUMBERED.matcher(finding.id());
      if (matcher.matches()) {
        families
            .computeIfAbsent(matcher.group(1), name -> new LinkedHashMap<>())
            .put(Long.valueOf(matcher.group(2)), finding);
      }
    }
    families.values().removeIf(family -> family.size() < 2);
    return families;
  }
}
