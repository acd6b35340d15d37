package io.cephcsi.driver.fuzz;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.cephcsi.proto.csi.v1.CsiProto;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Makes requests that are nearly right: each field has what belongs there, or something hostile.
 */
final class RequestMaker {
  private static final int MIB = 1 << 20;
  private static final long[] SIZES = {
    MIB, 16 * MIB, 32 * MIB, 64 * MIB, 300 * MIB, 0, 1, -1, 1L << 50, 1L << 62, Long.MAX_VALUE
  };
  private static final List<String> KEYS =
      List.of(
          "clusterID",
          "pool",
          "dataPool",
          "journalPool",
          "fsName",
          "volumeNamePrefix",
          "snapshotNamePrefix",
          "imageFeatures",
          "objectSize",
          "stripeUnit",
          "stripeCount",
          "encrypted",
          "encryptionKMSID",
          "mounter",
          "mapOptions",
          "unmapOptions",
          "mkfsOptions",
          "kernelMountOptions",
          "fuseMountOptions",
          "tryOtherMounters",
          "topologyConstrainedPools",
          "snapshotMode",
          "backingSnapshot",
          "staticVolume",
          "imageName",
          "rootPath",
          "subvolumeName",
          "subvolumePath",
          "thickProvision",
          "BaseReadIops",
          "reclaim.enableLock",
          "csi.storage.k8s.io/pvc/name",
          "csi.storage.k8s.io/pvc/namespace",
          "csi.storage.k8s.io/fstype");
  private static final List<String> RIGHT =
      List.of("ext4", "xfs", "layering", "4194304", "1", "fuse", "nbd", "krbd", "kernel", "false");
  private static final List<String> FLAGS =
      List.of("noatime", "ro", "noatime,ro", "nodev", "discard");

  private final Known known;
  private final Random random;

  RequestMaker(Known known, Random random) {
    this.known = known;
    this.random = random;
  }

  /** A request of a type. */
  Message request(Descriptor type) {
    return message(type, 4);
  }

  private DynamicMessage message(Descriptor type, int depth) {
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
    for (FieldDescriptor field : type.getFields()) {
      boolean left = depth == 0 && field.getJavaType() == FieldDescriptor.JavaType.MESSAGE;
      if (left || random.nextInt(100) < (isOptional(field) ? 65 : 6)) {
        continue;
      }
      if (field.isMapField()) {
        map(field, builder);
      } else if (field.isRepeated()) {
        int count = random.nextInt(60) == 0 ? random.nextInt(3000) : 1 + random.nextInt(2);
        for (int i = 0; i < count; i++) {
          builder.addRepeatedField(field, value(field, depth));
        }
      } else {
        builder.setField(field, value(field, depth));
      }
    }
    return builder.build();
  }

  private static boolean isOptional(FieldDescriptor field) {
    return switch (field.getName()) {
      case "volume_content_source",
          "accessibility_requirements",
          "mutable_parameters",
          "volume_mount_group",
          "starting_token",
          "readonly",
          "publish_context",
          "block",
          "limit_bytes",
          "snapshot_id",
          "group_snapshot_id" ->
          true;
      default -> field.getContainingOneof() != null;
    };
  }

  private void map(FieldDescriptor field, DynamicMessage.Builder builder) {
    Descriptor entry = field.getMessageType();
    FieldDescriptor value = entry.findFieldByName("value");
    if (value.getJavaType() != FieldDescriptor.JavaType.STRING) {
      return;
    }
    contents(field)
        .forEach(
            (key, text) ->
                builder.addRepeatedField(
                    field,
                    DynamicMessage.newBuilder(entry)
                        .setField(entry.findFieldByName("key"), key)
                        .setField(value, text)
                        .build()));
  }

  private Map<String, String> contents(FieldDescriptor field) {
    Map<String, String> map = new LinkedHashMap<>();
    if (field.getOptions().getExtension(CsiProto.csiSecret)) {
      map.putAll(known.secrets());
      if (random.nextInt(10) == 0) {
        map.put(random.nextBoolean() ? "userID" : "userKey", HostileText.any(random));
      }
      if (random.nextInt(30) == 0) {
        map.clear();
      }
      return map;
    }
    if (field.getName().equals("parameters") || field.getName().equals("volume_context")) {
      map.putAll(known.parameters());
    }
    if (field.getName().equals("volume_context")) {
      map.put("mounter", "fuse");
    }
    while (random.nextInt(5) < 2) {
      String key = random.nextInt(8) == 0 ? HostileText.any(random) : pick(KEYS);
      map.put(key, random.nextInt(3) == 0 ? pick(RIGHT) : HostileText.any(random));
    }
    if (random.nextInt(300) == 0) {
      for (int i = 0; i < 2000; i++) {
        map.put("key" + i, "value");
      }
    }
    return map;
  }

  private Object value(FieldDescriptor field, int depth) {
    return switch (field.getJavaType()) {
      case STRING -> random.nextInt(9) == 0 ? HostileText.any(random) : right(field.getName());
      case BYTE_STRING -> ByteString.copyFromUtf8(HostileText.any(random));
      case INT -> random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(20);
      case LONG -> SIZES[random.nextInt(random.nextInt(3) == 0 ? SIZES.length : 4)];
      case BOOLEAN -> random.nextInt(4) == 0;
      case FLOAT -> random.nextFloat();
      case DOUBLE -> random.nextDouble();
      case ENUM -> enumValue(field);
      case MESSAGE -> message(field.getMessageType(), depth - 1);
    };
  }

  private EnumValueDescriptor enumValue(FieldDescriptor field) {
    return random.nextInt(15) == 0
        ? field.getEnumType().findValueByNumberCreatingIfUnknown(random.nextInt(200))
        : field
            .getEnumType()
            .getValues()
            .get(random.nextInt(field.getEnumType().getValues().size()));
  }

  private String right(String field) {
    if (field.endsWith("_path")) {
      return known.path(random);
    }
    return switch (field) {
      case "name" -> "fuzz-" + random.nextInt(200);
      case "volume_id", "source_volume_id", "source_volume_ids", "volume_ids" ->
          known.volume(random);
      case "snapshot_id", "base_snapshot_id", "target_snapshot_id", "snapshot_ids" ->
          known.snapshot(random);
      case "volume_group_id", "group_snapshot_id" -> known.group(random);
      case "node_id" -> "fuzz-node";
      case "fs_type" -> random.nextInt(4) == 0 ? "xfs" : "ext4";
      case "mount_flags" -> pick(FLAGS);
      case "volume_mount_group" -> Integer.toString(random.nextInt(3000));
      case "starting_token" -> "";
      default -> pick(RIGHT);
    };
  }

  private String pick(List<String> texts) {
    return texts.get(random.nextInt(texts.size()));
  }
}
