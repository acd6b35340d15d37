package io.cephcsi.driver.volume;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Collection;
import java.util.Map;

/** About how many bytes values take in an answer of gRPC: rather more than less. Pure. */
final class AnswerBytes {
  /** Of a number, or around a text or message: the field's tag, and a value or length. */
  static final int FIELD = 12;

  private AnswerBytes() {}

  static int of(Object text) {
    return FIELD + text.toString().getBytes(UTF_8).length;
  }

  static int ofAll(Collection<?> texts) {
    return texts.stream().mapToInt(AnswerBytes::of).sum();
  }

  static int of(Map<String, String> map) {
    return map.size() * FIELD + ofAll(map.keySet()) + ofAll(map.values());
  }
}
