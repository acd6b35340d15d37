package io.cephcsi.driver.volume;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The one reader and writer of JSON. */
public final class Json {
  /** The most that {@link #bounded} reads. */
  public static final int MOST_PARTS = 50_000;

  private Json() {}

  /** For all threads; not to be configured. Made when it is needed first: it has 300 classes. */
  public static ObjectMapper mapper() {
    return Mapper.INSTANCE;
  }

  /**
   * Reads a value as maps, lists and the text of everything else; empty for null and for nothing.
   * It needs a tenth of the classes of {@link #mapper()}, for what is read at the start.
   *
   * @throws com.fasterxml.jackson.core.JsonProcessingException when it is not JSON
   */
  public static Object tree(byte[] json) throws IOException {
    return tree(new JsonFactory(), json);
  }

  /**
   * As {@link #tree}, of what a server sends that others choose or write: small values take much
   * more memory than their text, and have at most {@link #MOST_PARTS} names, values and brackets.
   *
   * @throws com.fasterxml.jackson.core.JsonProcessingException when it is not JSON, or has more
   */
  public static Object bounded(byte[] json) throws IOException {
    return tree(
        JsonFactory.builder()
            .streamReadConstraints(
                StreamReadConstraints.builder().maxTokenCount(MOST_PARTS).build())
            .build(),
        json);
  }

  private static Object tree(JsonFactory factory, byte[] json) throws IOException {
    try (JsonParser parser = factory.createParser(json)) {
      return value(parser, parser.nextToken());
    }
  }

  private static Object value(JsonParser parser, JsonToken first) throws IOException {
    if (first == JsonToken.START_OBJECT) {
      Map<String, Object> object = new LinkedHashMap<>();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        object.put(name, value(parser, parser.nextToken()));
      }
      return object;
    }
    if (first == JsonToken.START_ARRAY) {
      List<Object> list = new ArrayList<>();
      JsonToken next = parser.nextToken();
      while (next != JsonToken.END_ARRAY) {
        list.add(value(parser, next));
        next = parser.nextToken();
      }
      return list;
    }
    return first == null || first == JsonToken.VALUE_NULL ? "" : parser.getText();
  }

  /** Apart, so that {@link #tree} does not load it. */
  private static final class Mapper {
    private static final ObjectMapper INSTANCE = new ObjectMapper();
  }
}
