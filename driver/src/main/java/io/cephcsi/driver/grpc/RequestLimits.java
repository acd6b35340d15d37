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
 * field says otherwise; more for ids of volumes, which this driver need not have given; and limits
 * on numbers, which the specification does not have: an empty element takes two bytes of a request
 * and a hundred in memory.
 */
final class RequestLimits {
  private static final int STRING_BYTES = 128;
  private static final int NODE_ID_BYTES = 256;

  /** Administrators choose those of static volumes; one of the in-tree plugin has up to 595. */
  private static final int VOLUME_ID_BYTES = 1024;

  private static final int MAP_BYTES = 4096;
  private static final int PATH_BYTES = 4096;

  /** Of one list or map: more volumes than a group has, more topologies than a cluster has. */
  private static final int ELEMENTS = 1024;

  private static final int ALL_ELEMENTS = 4096;

  private int elements;

  private RequestLimits() {}

  /**
   * Checks a request with all that it holds.
   *
   * @return how many elements its lists and maps have
   * @throws VolumeException INVALID_ARGUMENT naming the field that is too large
   */
  static int check(Message message) {
    RequestLimits limits = new RequestLimits();
    limits.visit(message);
    return limits.elements;
  }

  private void visit(Message message) {
    count("unknown fields", message.getUnknownFields().asMap().size());
    for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
      FieldDescriptor field = entry.getKey();
      if (field.isRepeated()) {
        count(field.getName(), ((List<?>) entry.getValue()).size());
      }
      if (field.isMapField()) {
        require(field, mapBytes((List<?>) entry.getValue()), MAP_BYTES);
      } else if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        values(field, entry.getValue()).forEach(value -> visit((Message) value));
      } else if (field.getJavaType() == FieldDescriptor.JavaType.STRING) {
        checkStrings(field, values(field, entry.getValue()));
      }
    }
  }

  private void count(String field, int number) {
    elements += number;
    if (number > ELEMENTS || elements > ALL_ELEMENTS) {
      throw VolumeException.invalid(
          field
              + " has "
              + number
              + " elements; at most "
              + ELEMENTS
              + " are allowed, and "
              + ALL_ELEMENTS
              + " in a request");
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
    if (field.equals("volume_id") || field.equals("source_volume_id")) {
      return VOLUME_ID_BYTES;
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
