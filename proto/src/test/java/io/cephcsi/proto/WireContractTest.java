package io.cephcsi.proto;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.Message;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationProto;
import io.cephcsi.proto.addons.fence.FenceProto;
import io.cephcsi.proto.addons.identity.IdentityProto;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceProto;
import io.cephcsi.proto.addons.replication.ReplicationProto;
import io.cephcsi.proto.addons.volumegroup.VolumeGroupProto;
import io.cephcsi.proto.csi.v1.CsiProto;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Holds the protos to {@code wire-contract.txt}: the published interfaces, one fact a line. A
 * sidecar that was built from the published protos understands the driver only as long as both say
 * the same, so nothing may be missing and nothing may be added.
 */
class WireContractTest {

  private static final String SECRET = " (csi.v1.csi_secret)";

  private static final List<FileDescriptor> FILES =
      List.of(
          CsiProto.getDescriptor(),
          IdentityProto.getDescriptor(),
          ReclaimSpaceProto.getDescriptor(),
          VolumeGroupProto.getDescriptor(),
          FenceProto.getDescriptor(),
          EncryptionKeyRotationProto.getDescriptor(),
          ReplicationProto.getDescriptor());

  @Test
  void protosSayAllThatTheContractSays() throws IOException {
    assertThat(without(contract(), rendered())).isEmpty();
  }

  @Test
  void protosSayNothingThatTheContractDoesNot() throws IOException {
    assertThat(without(rendered(), contract())).isEmpty();
  }

  @Test
  void everySecretFieldOfTheContractCarriesTheOption() throws IOException {
    List<String> expected =
        contract().stream()
            .filter(line -> line.startsWith("field ") && line.endsWith(SECRET))
            .map(line -> line.split(" ", -1))
            .map(words -> words[1] + "." + words[3])
            .toList();

    assertThat(expected).hasSize(38);
    assertThat(fields().filter(WireContractTest::isSecret).map(FieldDescriptor::getFullName))
        .containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void everyFieldNamedSecretsIsSecret() {
    assertThat(fields().filter(field -> field.getName().contains("secret")))
        .isNotEmpty()
        .allMatch(WireContractTest::isSecret);
  }

  /** Short lists make readable failures. */
  private static List<String> without(List<String> lines, List<String> known) {
    Set<String> knownLines = Set.copyOf(known);
    return lines.stream().filter(line -> !knownLines.contains(line)).toList();
  }

  private static boolean isSecret(FieldDescriptor field) {
    return field.getOptions().getExtension(CsiProto.csiSecret);
  }

  private static Stream<FieldDescriptor> fields() {
    return messages().flatMap(message -> message.getFields().stream());
  }

  private static Stream<Descriptor> messages() {
    return FILES.stream()
        .flatMap(file -> file.getMessageTypes().stream())
        .flatMap(WireContractTest::withNested);
  }

  /** The message and those inside it, without the entry messages that stand for maps. */
  private static Stream<Descriptor> withNested(Descriptor message) {
    return Stream.concat(
        Stream.of(message),
        message.getNestedTypes().stream()
            .filter(nested -> !nested.getOptions().getMapEntry())
            .flatMap(WireContractTest::withNested));
  }

  private static List<String> contract() throws IOException {
    try (InputStream in = WireContractTest.class.getResourceAsStream("/wire-contract.txt");
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(Objects.requireNonNull(in), UTF_8))) {
      return lines.lines().filter(line -> !line.startsWith("#")).toList();
    }
  }

  private static List<String> rendered() {
    List<String> lines = new ArrayList<>();
    for (FileDescriptor file : FILES) {
      lines.add("file " + file.getName() + " package=" + file.getPackage());
      file.getExtensions().forEach(extension -> lines.add(extension(extension)));
      file.getServices().forEach(service -> addService(lines, service));
      file.getEnumTypes().forEach(type -> addValues(lines, type));
    }
    messages().forEach(message -> addMessage(lines, message));
    return lines;
  }

  private static String extension(FieldDescriptor extension) {
    return "extension %s %d %s extends=%s"
        .formatted(
            extension.getFullName(),
            extension.getNumber(),
            type(extension),
            extension.getContainingType().getFullName());
  }

  private static void addService(List<String> lines, ServiceDescriptor service) {
    lines.add("service " + service.getFullName() + options(service.getOptions()));
    service.getMethods().forEach(method -> lines.add(method(method)));
  }

  private static String method(MethodDescriptor method) {
    return "method %s %s%s -> %s%s%s"
        .formatted(
            method.getFullName(),
            method.isClientStreaming() ? "stream " : "",
            method.getInputType().getFullName(),
            method.isServerStreaming() ? "stream " : "",
            method.getOutputType().getFullName(),
            options(method.getOptions()));
  }

  private static void addMessage(List<String> lines, Descriptor message) {
    String name = message.getFullName();
    lines.add("message " + name + options(message.getOptions()));
    message.getFields().forEach(field -> lines.add(field(field)));
    message.getEnumTypes().forEach(type -> addValues(lines, type));
    message.getExtensions().forEach(extension -> lines.add(extension(extension)));
    for (DescriptorProto.ReservedRange range : message.toProto().getReservedRangeList()) {
      for (int number = range.getStart(); number < range.getEnd(); number++) {
        lines.add("reserved " + name + " " + number);
      }
    }
    message
        .toProto()
        .getReservedNameList()
        .forEach(reserved -> lines.add("reserved " + name + " " + reserved));
  }

  private static String field(FieldDescriptor field) {
    OneofDescriptor oneof = field.getContainingOneof();
    return "field %s %d %s %s%s%s"
        .formatted(
            field.getContainingType().getFullName(),
            field.getNumber(),
            field.getName(),
            type(field),
            oneof == null ? "" : " oneof=" + oneof.getName(),
            options(field.getOptions()));
  }

  private static String type(FieldDescriptor field) {
    if (field.isMapField()) {
      Descriptor entry = field.getMessageType();
      return "map<%s,%s>"
          .formatted(type(entry.findFieldByNumber(1)), type(entry.findFieldByNumber(2)));
    }
    String type =
        switch (field.getJavaType()) {
          case MESSAGE -> field.getMessageType().getFullName();
          case ENUM -> field.getEnumType().getFullName();
          default ->
              field.toProto().getType().name().substring("TYPE_".length()).toLowerCase(Locale.ROOT);
        };
    return field.isRepeated() ? "repeated " + type : type;
  }

  private static void addValues(List<String> lines, EnumDescriptor type) {
    for (EnumValueDescriptor value : type.getValues()) {
      lines.add(
          "value %s %d %s%s%s"
              .formatted(
                  type.getFullName(),
                  value.getNumber(),
                  value.getName(),
                  options(type.getOptions()),
                  options(value.getOptions())));
    }
  }

  /** The extensions of this contract that are set to true, such as {@code (csi.v1.csi_secret)}. */
  private static String options(Message options) {
    return options.getAllFields().entrySet().stream()
        .filter(option -> option.getKey().isExtension() && option.getValue().equals(true))
        .map(option -> " (" + option.getKey().getFullName() + ")")
        .sorted()
        .collect(Collectors.joining());
  }
}
