package io.cephcsi.driver.testing;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationProto;
import io.cephcsi.proto.addons.fence.FenceProto;
import io.cephcsi.proto.addons.identity.IdentityProto;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceProto;
import io.cephcsi.proto.addons.replication.ReplicationProto;
import io.cephcsi.proto.addons.volumegroup.VolumeGroupProto;
import io.cephcsi.proto.csi.v1.CsiProto;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** Messages of all protos with every field set. */
public final class FilledMessages {
  private static final int DEPTH = 6;

  private FilledMessages() {}

  /** All protos of the driver. */
  public static List<FileDescriptor> protos() {
    return List.of(
        CsiProto.getDescriptor(),
        IdentityProto.getDescriptor(),
        ReclaimSpaceProto.getDescriptor(),
        VolumeGroupProto.getDescriptor(),
        ReplicationProto.getDescriptor(),
        FenceProto.getDescriptor(),
        EncryptionKeyRotationProto.getDescriptor());
  }

  /** All messages of all protos, nested ones too. */
  public static Stream<Descriptor> types() {
    return protos().stream().flatMap(file -> file.getMessageTypes().stream()).flatMap(m -> all(m));
  }

  private static Stream<Descriptor> all(Descriptor type) {
    return type.getOptions().getMapEntry()
        ? Stream.empty()
        : Stream.concat(
            Stream.of(type), type.getNestedTypes().stream().flatMap(FilledMessages::all));
  }

  /** A message with every field set; of a oneof's fields the last one. */
  public static Message fill(Descriptor type, Function<FieldDescriptor, String> text) {
    try {
      return generated(type)
          .newBuilderForType()
          .mergeFrom(fill(type, text, DEPTH).toByteArray())
          .build();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The empty message of the generated class. */
  private static Message generated(Descriptor type) {
    StringBuilder name = new StringBuilder(type.getName());
    for (Descriptor outer = type.getContainingType();
        outer != null;
        outer = outer.getContainingType()) {
      name.insert(0, outer.getName() + "$");
    }
    try {
      return (Message)
          Class.forName(type.getFile().getOptions().getJavaPackage() + "." + name)
              .getMethod("getDefaultInstance")
              .invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Message fill(Descriptor type, Function<FieldDescriptor, String> text, int depth) {
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
    for (FieldDescriptor field : type.getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE && depth == 0) {
        continue;
      }
      if (field.isMapField()) {
        builder.addRepeatedField(field, entry(field, text, depth));
      } else if (field.isRepeated()) {
        builder.addRepeatedField(field, value(field, text, depth));
        builder.addRepeatedField(field, value(field, text, depth));
      } else {
        builder.setField(field, value(field, text, depth));
      }
    }
    return builder.build();
  }

  private static Message entry(
      FieldDescriptor map, Function<FieldDescriptor, String> text, int depth) {
    Descriptor type = map.getMessageType();
    FieldDescriptor value = type.findFieldByName("value");
    DynamicMessage.Builder entry = DynamicMessage.newBuilder(type);
    entry.setField(type.findFieldByName("key"), "key");
    entry.setField(
        value,
        value.getJavaType() == FieldDescriptor.JavaType.STRING
            ? text.apply(map)
            : value(value, text, depth));
    return entry.build();
  }

  private static Object value(
      FieldDescriptor field, Function<FieldDescriptor, String> text, int depth) {
    return switch (field.getJavaType()) {
      case STRING -> text.apply(field);
      case BYTE_STRING -> ByteString.copyFromUtf8(text.apply(field));
      case INT -> 1;
      case LONG -> 1L;
      case BOOLEAN -> true;
      case FLOAT -> 1f;
      case DOUBLE -> 1d;
      case ENUM -> field.getEnumType().getValues().get(0);
      case MESSAGE -> fill(field.getMessageType(), text, depth - 1);
    };
  }
}
