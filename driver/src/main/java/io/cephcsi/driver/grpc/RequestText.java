package io.cephcsi.driver.grpc;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Map;

/**
 * Refuses control characters in every text of a request, at the one place that all requests pass: a
 * name that ends in C where a NUL stands names something else there. Of secrets only those of Ceph
 * are names and keys.
 */
final class RequestText {
  /** A StorageClass has it as JSON on many lines; it is parsed, and never a name. */
  private static final String JSON_PARAMETER = "topologyConstrainedPools";

  private RequestText() {}

  /**
   * Checks a request with all that it holds.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the field, never its value
   */
  static void check(Message message) {
    for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
      FieldDescriptor field = entry.getKey();
      List<?> values = field.isRepeated() ? (List<?>) entry.getValue() : List.of(entry.getValue());
      if (field.isMapField()) {
        values.forEach(value -> checkEntry(field, (MapEntry<?, ?>) value));
      } else if (field.getJavaType() == JavaType.MESSAGE) {
        values.forEach(value -> check((Message) value));
      } else if (field.getJavaType() == JavaType.STRING) {
        values.forEach(value -> require(field.getName(), (String) value));
      }
    }
  }

  private static void checkEntry(FieldDescriptor map, MapEntry<?, ?> entry) {
    String key = String.valueOf(entry.getKey());
    require("a key of " + map.getName(), key);
    if (entry.getValue() instanceof Message message) {
      check(message);
    } else {
      String what = map.getName() + ": " + PlainText.escape(key, 200);
      String value = String.valueOf(entry.getValue());
      if (Secrets.isSecret(map) && !Credentials.isOfCeph(key)) {
        requireNoNul(what, value);
      } else {
        require(what, withoutLineBreaks(map, key, value));
      }
    }
  }

  private static String withoutLineBreaks(FieldDescriptor map, String key, String value) {
    if (key.equals(JSON_PARAMETER)) {
      return value.replace('\r', ' ').replace('\n', ' ').replace('\t', ' ');
    }
    if (!Secrets.isSecret(map)) {
      return value;
    }
    // A Secret that was made of a file ends as the file does: in a line break.
    int end = value.length();
    while (end > 0 && (value.charAt(end - 1) == '\n' || value.charAt(end - 1) == '\r')) {
      end--;
    }
    return value.substring(0, end);
  }

  /** A certificate has lines, and a passphrase what it likes: they are bytes for who takes them. */
  private static void requireNoNul(String what, String text) {
    if (text.indexOf('\0') >= 0) {
      throw VolumeException.invalid(what + " must have no NUL");
    }
  }

  private static void require(String what, String text) {
    if (!PlainText.isPlain(text)) {
      throw VolumeException.invalid(what + " must have no control characters or direction marks");
    }
  }
}
