package io.cephcsi.driver.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * What {@code ceph-csi bench reclaim} found, with the JSON that its page of HTML holds. Files are
 * read with distrust: others may have written them. Immutable.
 *
 * @param setup what was measured on, and how
 * @param points in the order in which they were measured
 * @param notes what is missing, and why
 */
record BenchReport(Map<String, String> setup, List<BenchPoint> points, List<String> notes) {
  private static final String FORMAT = "ceph-csi bench reclaim 1";
  private static final String BEGIN = "<script type=\"application/json\" id=\"ceph-csi-bench\">";
  private static final String END = "</script>";
  private static final long MOST_BYTES = 16 << 20;
  private static final int MOST_ELEMENTS = 1000;
  private static final int MOST_TEXT = 1000;

  BenchReport {
    setup = Map.copyOf(new LinkedHashMap<>(setup));
    points = List.copyOf(points);
    notes = List.copyOf(notes);
  }

  /** The JSON as an element of HTML; a browser shows nothing of it. */
  String element() {
    ObjectNode root = Json.mapper().createObjectNode();
    root.put("format", FORMAT);
    setup.forEach(root.putObject("setup")::put);
    notes.forEach(root.putArray("notes")::add);
    var array = root.putArray("points");
    for (BenchPoint point : points) {
      ObjectNode node = array.addObject();
      point.toJson(node);
      node.put("sharePercent", point.sharePercent());
      point.latencies().ifPresent(latencies -> put(node.putObject("latencies"), latencies));
      ObjectNode osd = node.putObject("osd");
      point
          .osd()
          .forEach(
              (name, time) ->
                  osd.putObject(name).put("count", time.count()).put("seconds", time.seconds()));
    }
    try {
      // In a text of JSON, this is the same character, and no text can end the element.
      String json = Json.mapper().writeValueAsString(root).replace("<", "\\u003c");
      return BEGIN + json + END;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e); // a tree can always be written
    }
  }

  private static void put(ObjectNode node, Latencies latencies) {
    node.put("count", latencies.count())
        .put("p50Millis", latencies.p50())
        .put("p90Millis", latencies.p90())
        .put("p99Millis", latencies.p99())
        .put("maxMillis", latencies.max());
  }

  /**
   * Reads the page that {@link BenchPage} made.
   *
   * @throws ConfigException when it is none
   */
  static BenchReport read(Path file) {
    try {
      if (!Files.isRegularFile(file)) {
        throw wrong(file, "it is no regular file");
      }
      if (Files.size(file) > MOST_BYTES) {
        throw wrong(file, "it has more than " + MOST_BYTES + " bytes");
      }
      String page = Files.readString(file, StandardCharsets.UTF_8);
      int from = page.indexOf(BEGIN);
      int to = from < 0 ? -1 : page.indexOf(END, from);
      if (to < 0) {
        throw wrong(file, "it has no data of one");
      }
      return decode(Json.mapper().readTree(page.substring(from + BEGIN.length(), to)));
    } catch (JsonProcessingException e) {
      throw wrong(file, "its data are not JSON: " + e.getOriginalMessage());
    } catch (IllegalArgumentException e) {
      throw wrong(file, String.valueOf(e.getMessage()));
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e, e);
    }
  }

  private static ConfigException wrong(Path file, String why) {
    return new ConfigException(file + " is not a report of bench reclaim: " + why);
  }

  private static BenchReport decode(JsonNode root) {
    if (!FORMAT.equals(text(root, "format"))) {
      throw new IllegalArgumentException("its format is " + PlainText.show(text(root, "format")));
    }
    Map<String, String> setup = new LinkedHashMap<>();
    JsonNode facts = bounded(root, "setup");
    facts.fieldNames().forEachRemaining(name -> setup.put(plain(name), text(facts, name)));
    List<String> notes = new ArrayList<>();
    for (JsonNode note : bounded(root, "notes")) {
      notes.add(plain(note.asText()));
    }
    List<BenchPoint> points = new ArrayList<>();
    for (JsonNode point : bounded(root, "points")) {
      points.add(point(point));
    }
    return new BenchReport(setup, points, notes);
  }

  private static BenchPoint point(JsonNode node) {
    int objects = (int) Math.min(count(node, "objects"), Integer.MAX_VALUE);
    double seconds = decimal(node, "seconds");
    if (objects == 0 || seconds == 0) {
      throw new IllegalArgumentException("a point has no objects or no time");
    }
    Map<String, OsdCounters.Time> osd = new LinkedHashMap<>();
    JsonNode times = bounded(node, "osd");
    times
        .fieldNames()
        .forEachRemaining(
            name -> {
              JsonNode time = times.path(name);
              osd.put(
                  plain(name),
                  new OsdCounters.Time(count(time, "count"), decimal(time, "seconds")));
            });
    return new BenchPoint(
        (int) Math.min(count(node, "concurrency"), Integer.MAX_VALUE),
        count(node, "maxBytesPerSecond"),
        (int) Math.min(count(node, "sharePercent"), 100),
        objects,
        seconds,
        count(node, "freedBytes"),
        decimal(node, "cpuSeconds"),
        node.has("osdCpuSeconds")
            ? OptionalDouble.of(decimal(node, "osdCpuSeconds"))
            : OptionalDouble.empty(),
        node.has("latencies") ? Optional.of(latencies(node.path("latencies"))) : Optional.empty(),
        osd);
  }

  private static Latencies latencies(JsonNode node) {
    return new Latencies(
        count(node, "count"),
        decimal(node, "p50Millis"),
        decimal(node, "p90Millis"),
        decimal(node, "p99Millis"),
        decimal(node, "maxMillis"));
  }

  private static JsonNode bounded(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (!value.isContainerNode() || value.size() > MOST_ELEMENTS) {
      throw new IllegalArgumentException(field + " is missing or too long");
    }
    return value;
  }

  private static String text(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (!value.isTextual()) {
      throw new IllegalArgumentException(PlainText.show(field) + " is missing or no text");
    }
    return plain(value.textValue());
  }

  private static String plain(String text) {
    return PlainText.escape(text, MOST_TEXT);
  }

  private static long count(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 0) {
      throw new IllegalArgumentException(field + " is missing or no number from 0 on");
    }
    return value.longValue();
  }

  private static double decimal(JsonNode node, String field) {
    double value = node.path(field).isNumber() ? node.path(field).doubleValue() : -1;
    if (!(value >= 0 && value < Double.MAX_VALUE)) {
      throw new IllegalArgumentException(field + " is missing or no number from 0 on");
    }
    return value;
  }
}
