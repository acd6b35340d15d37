package io.cephcsi.driver.grpc;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Map;

/**
 * The size limits of the CSI specification: 128 bytes for a string and 4 KiB for a map, unless the
 * field says otherwise.
 */
final class RequestLimits {
  private static final int STRING_BYTES = 128;
  private static final int NODE_ID_BYTES = 256;
  private static final int MAP_BYTES = 4096;
  private static final int PATH_BYTES = 4096;

  private RequestLimits() {}

  /**
   * Checks a request with all that it holds.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the field that is too large
   */
  static void check(Message message) {
    for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
      FieldDescriptor field = entry.getKey();
      if (field.isMapField()) {
        require(field, mapBytes((List<?>) entry.getValue()), MAP_BYTES);
      } else if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        values(field, entry.getValue()).forEach(value -> check((Message) value));
      } else if (field.getJavaType() == FieldDescriptor.JavaType.STRING) {
        checkStrings(field, values(field, entry.getValue()));
      }
    }
  }

  private static List<?> values(FieldDescriptor field, Object value) {
    return field.isRepeated() ? (List<?>) value : List.of(value);
  }

  private static void checkStrings(FieldDescriptor field, List<?> values) {
    if (field.getName().equals("mount_flags")) {
      require(field, values.stream().mapToInt(RequestLimits::bytes).sum(), MAP_BYTES);
      return;
    }
    values.forEach(value -> require(field, bytes(value), limit(field.getName())));
  }

  private static int limit(String field) {
    if (field.endsWith("_path")) {
      return PATH_BYTES;
    }
    return field.equals("node_id") ? NODE_ID_BYTES : STRING_BYTES;
  }

  private static int mapBytes(List<?> entries) {
    int bytes = 0;
    for (Object element : entries) {
      MapEntry<?, ?> entry = (MapEntry<?, ?>) element;
      bytes += bytes(entry.getKey()) + bytes(entry.getValue());
    }
    return bytes;
  }

  private static int bytes(Object value) {
    return String.valueOf(value).getBytes(UTF_8).length;
  }

  private static void require(FieldDescriptor field, int bytes, int limit) {
    if (bytes > limit) {
      throw VolumeException.invalid(
          field.getName() + " has " + bytes + " bytes; at most " + limit + " are allowed");
    }
  }
}
