package io.cephcsi.driver.grpc;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import com.google.protobuf.UnknownFieldSet;
import io.cephcsi.proto.csi.v1.CsiProto;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Shows messages without their secrets. */
public final class Secrets {
  private static final int SHORTEST = 8;
  private static final String STRIPPED = "***stripped***";
  // Key material that the specification does not mark.
  private static final String ENCRYPTION_KEY = "encryption_key";

  private Secrets() {}

  /** The message on one line, every secret replaced. */
  public static String show(Message message) {
    return TextFormat.printer().emittingSingleLine(true).printToString(strip(message)).strip();
  }

  static Message strip(Message message) {
    Message.Builder stripped = message.toBuilder();
    // A field of a newer interface may be a secret.
    stripped.setUnknownFields(UnknownFieldSet.getDefaultInstance());
    for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
      FieldDescriptor field = entry.getKey();
      if (isSecret(field)) {
        stripSecret(stripped, field, entry.getValue());
      } else if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE && !field.isMapField()) {
        stripNested(stripped, field, entry.getValue());
      }
    }
    return stripped.build();
  }

  /**
   * The secrets of a request that are no names of users, line by line, and long enough to be found
   * in a text.
   */
  static Set<String> values(Message request) {
    Set<String> values = new HashSet<>();
    request.getAllFields().entrySet().stream()
        .filter(field -> isSecret(field.getKey()) && field.getKey().isMapField())
        .flatMap(field -> ((List<?>) field.getValue()).stream())
        .map(entry -> (MapEntry<?, ?>) entry)
        .filter(entry -> !String.valueOf(entry.getKey()).endsWith("ID"))
        .flatMap(entry -> String.valueOf(entry.getValue()).lines())
        .map(String::strip)
        .filter(value -> value.length() >= SHORTEST)
        .forEach(values::add);
    return values;
  }

  static boolean isSecret(FieldDescriptor field) {
    return field.getOptions().getExtension(CsiProto.csiSecret)
        || field.getName().equals(ENCRYPTION_KEY);
  }

  private static void stripSecret(Message.Builder builder, FieldDescriptor field, Object value) {
    if (!field.isMapField()) {
      builder.clearField(field);
      if (field.getJavaType() == FieldDescriptor.JavaType.STRING && !field.isRepeated()) {
        builder.setField(field, STRIPPED);
      }
      return;
    }
    builder.clearField(field);
    for (Object entry : (List<?>) value) {
      Message.Builder shown = ((Message) entry).toBuilder();
      FieldDescriptor text = shown.getDescriptorForType().findFieldByName("value");
      builder.addRepeatedField(field, shown.setField(text, STRIPPED).build());
    }
  }

  private static void stripNested(Message.Builder builder, FieldDescriptor field, Object value) {
    if (!field.isRepeated()) {
      builder.setField(field, strip((Message) value));
      return;
    }
    int index = 0;
    for (Object element : (List<?>) value) {
      builder.setRepeatedField(field, index++, strip((Message) element));
    }
  }
}
