package io.cephcsi.driver.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.StreamSupport;

/** What a real ceph-csi left on a real cluster after each of a dozen calls. */
public final class Golden {
  private static final JsonNode ROOT = read();

  private Golden() {}

  private static JsonNode read() {
    try (InputStream in = Golden.class.getResourceAsStream("/golden-ceph-csi.json")) {
      return new ObjectMapper().readTree(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The state after a call. */
  public static JsonNode after(String call) {
    return StreamSupport.stream(ROOT.get("steps").spliterator(), false)
        .filter(step -> step.get("after").asText().equals(call))
        .findFirst()
        .orElseThrow();
  }

  /** All values of a field, wherever it is. */
  public static List<String> values(String field) {
    return ROOT.findValuesAsText(field);
  }

  /** The omaps of the journal's objects after a call: object, key, value. */
  public static Map<String, Map<String, String>> journal(String call) {
    Map<String, Map<String, String>> objects = new LinkedHashMap<>();
    after(call)
        .get("journal")
        .properties()
        .forEach(
            object -> {
              Map<String, String> omap = new TreeMap<>();
              object
                  .getValue()
                  .get("omap")
                  .properties()
                  .forEach(entry -> omap.put(entry.getKey(), entry.getValue().asText()));
              objects.put(object.getKey(), omap);
            });
    return objects;
  }

  /** The bytes of the reference trackers after a call, by the name of the object. */
  public static Map<String, RawObject> trackers(String call) {
    Map<String, RawObject> trackers = new LinkedHashMap<>();
    after(call)
        .get("journal")
        .properties()
        .forEach(
            object -> {
              if (object.getKey().startsWith("rt-")) {
                JsonNode tracker = object.getValue();
                trackers.put(
                    object.getKey(),
                    new RawObject(
                        values(tracker.get("xattrs")),
                        bytes(tracker.get("data").asText()),
                        values(tracker.get("omap"))));
              }
            });
    return trackers;
  }

  private static Map<String, byte[]> values(JsonNode node) {
    Map<String, byte[]> values = new TreeMap<>();
    node.properties()
        .forEach(entry -> values.put(entry.getKey(), bytes(entry.getValue().asText())));
    return values;
  }

  private static byte[] bytes(String text) {
    return text.startsWith("0x")
        ? HexFormat.of().parseHex(text.substring(2))
        : text.getBytes(StandardCharsets.UTF_8);
  }
}
