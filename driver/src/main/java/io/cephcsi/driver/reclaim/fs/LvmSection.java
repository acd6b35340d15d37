package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A section of LVM2's text metadata: values by name, each a number, a text, a list of these, or a
 * section. What is asked for and not there, or of another type, refuses.
 */
final class LvmSection {
  private final Map<String, Object> values = new LinkedHashMap<>();

  /** Whether the name was free. */
  boolean put(String name, Object value) {
    return values.putIfAbsent(name, value) == null;
  }

  Set<String> names() {
    return values.keySet();
  }

  boolean has(String name) {
    return values.containsKey(name);
  }

  /** Refuses names that are not among those: what they mean is not known. */
  void allow(Set<String> known, String what) {
    for (String name : values.keySet()) {
      if (!known.contains(name)) {
        throw Refusal.unsupported(what + " has \"" + name + "\", which is not known");
      }
    }
  }

  /** A number that is not negative and at most {@code most}. */
  long integer(String name, long most) {
    long value = get(name, Long.class);
    Refusal.require(value >= 0 && value <= most, "LVM2 has " + name + " = " + value);
    return value;
  }

  String text(String name) {
    return get(name, String.class);
  }

  LvmSection section(String name) {
    return get(name, LvmSection.class);
  }

  List<?> list(String name) {
    return get(name, List.class);
  }

  /** A list of texts; empty when it is not there. */
  List<String> texts(String name) {
    List<String> texts = new ArrayList<>();
    if (has(name)) {
      for (Object value : list(name)) {
        texts.add(as(name, value, String.class));
      }
    }
    return texts;
  }

  /** The sections in this one, by name. Refuses when there is something else. */
  Map<String, LvmSection> sections() {
    Map<String, LvmSection> sections = new LinkedHashMap<>();
    values.forEach((name, value) -> sections.put(name, as(name, value, LvmSection.class)));
    return sections;
  }

  /** An element of a list of that type. */
  static <T> T as(String name, Object value, Class<T> type) {
    if (!type.isInstance(value)) {
      throw Refusal.inconsistent("LVM2 has another type of value for " + name);
    }
    return type.cast(value);
  }

  private <T> T get(String name, Class<T> type) {
    Object value = values.get(name);
    if (value == null) {
      throw Refusal.inconsistent("LVM2 has no " + name);
    }
    return as(name, value, type);
  }
}
