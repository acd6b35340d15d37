package io.cephcsi.driver.kms;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import javax.net.ssl.SNIHostName;

/**
 * The fields that configure a KMS. An empty text counts as absent.
 *
 * @param name where they are, for messages, such as {@code KMS vault-1 in config.json}
 * @param fields their values as JSON
 */
record Section(String name, Map<String, JsonNode> fields) {
  private static final int SHOWN = 100;

  /** Copies the fields. */
  Section {
    fields = Map.copyOf(fields);
  }

  /** One whose fields are those of an object of JSON. */
  static Section of(String name, JsonNode object) {
    Map<String, JsonNode> fields = new LinkedHashMap<>();
    object.properties().forEach(field -> fields.put(field.getKey(), field.getValue()));
    return new Section(name, fields);
  }

  /**
   * A field; empty when it is absent.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is no text
   */
  Optional<String> find(String field) {
    JsonNode value = fields.get(field);
    if (value == null || value.isNull()) {
      return Optional.empty();
    }
    if (!value.isTextual()) {
      throw wrong(field, "must be a text in quotes");
    }
    return Optional.of(value.textValue()).filter(text -> !text.isEmpty());
  }

  /** A field that may be absent. */
  String get(String field, String otherwise) {
    return find(field).orElse(otherwise);
  }

  /**
   * A field that must be there.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not
   */
  String require(String field) {
    return find(field).orElseThrow(() -> wrong(field, "is missing"));
  }

  /** A field that is true or false, as text. */
  boolean isTrue(String field, boolean otherwise) {
    return find(field)
        .map(text -> Booleans.parse(text).orElseThrow(() -> wrong(field, "must be true or false")))
        .orElse(otherwise);
  }

  /** A field that is a number of JSON, or a text of digits. */
  int number(String field, int otherwise, int least, int most) {
    JsonNode value = fields.get(field);
    if (value == null || value.isNull()) {
      return otherwise;
    }
    String text = value.isIntegralNumber() ? value.asText() : get(field, "");
    int number = text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : -1;
    if (number < least || number > most) {
      throw wrong(field, "must be a whole number from " + least + " to " + most);
    }
    return number;
  }

  /** Fields below a key of a field, such as those of a tenant; none when they are absent. */
  Section below(String field, String key) {
    JsonNode value = fields.get(field);
    if (value == null || value.isNull()) {
      return new Section(name, Map.of());
    }
    if (!value.isObject()) {
      throw wrong(field, "must be an object");
    }
    JsonNode found = value.get(key);
    if (found == null || found.isNull()) {
      return new Section(name, Map.of());
    }
    if (!found.isObject()) {
      throw wrong(field + "." + PlainText.escape(key, SHOWN), "must be an object");
    }
    return of(name + ", " + field + "." + PlainText.escape(key, SHOWN), found);
  }

  /** These fields, and over them those of another that are among some names. */
  Section with(Section other, Collection<String> allowed) {
    Map<String, JsonNode> all = new LinkedHashMap<>(fields);
    other.fields.forEach(
        (field, value) -> {
          if (allowed.contains(field)) {
            all.put(field, value);
          }
        });
    return new Section(name, all);
  }

  /** The fields that are not among the known ones, as they may be shown. */
  Set<String> unknown(Collection<String> known) {
    Set<String> unknown = new TreeSet<>();
    fields.keySet().stream()
        .filter(field -> !known.contains(field))
        .forEach(field -> unknown.add(PlainText.escape(field, SHOWN)));
    return unknown;
  }

  /**
   * The name of a server, as TLS sends it.
   *
   * @throws VolumeException INVALID_ARGUMENT when TLS cannot
   */
  String serverName(String field, String host) {
    try {
      return new SNIHostName(host).getAsciiName();
    } catch (IllegalArgumentException e) {
      throw wrong(field, "must be a DNS name: letters, digits and -, without a dot at the end");
    }
  }

  /** Something is wrong with a field. */
  VolumeException wrong(String field, String what) {
    return VolumeException.invalid(name + ": the field " + field + " " + what);
  }

  /** Without the values. */
  @Override
  public String toString() {
    return name;
  }
}
