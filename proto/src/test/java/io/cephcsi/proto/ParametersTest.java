package io.cephcsi.proto;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesResponse;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The build renames some methods of the messages that have both {@code parameters} and {@code
 * mutable_parameters} (see the pom). Whichever way a message is made, neither map may end up in the
 * other.
 */
class ParametersTest {

  private static final Map<String, String> FIXED = Map.of("pool", "replicated");
  private static final Map<String, String> MUTABLE = Map.of("reclaim", "daily");

  static Stream<Message> messagesWithBothMaps() {
    return Stream.of(
        CreateVolumeRequest.newBuilder()
            .putAllParameters(FIXED)
            .putAllMutableParameters(MUTABLE)
            .build(),
        ValidateVolumeCapabilitiesRequest.newBuilder()
            .putAllParameters(FIXED)
            .putAllMutableParameters(MUTABLE)
            .build(),
        ValidateVolumeCapabilitiesResponse.Confirmed.newBuilder()
            .putAllParameters(FIXED)
            .putAllMutableParameters(MUTABLE)
            .build());
  }

  @ParameterizedTest
  @MethodSource("messagesWithBothMaps")
  void builderKeepsThemApart(Message message) {
    assertApart(message);
  }

  @ParameterizedTest
  @MethodSource("messagesWithBothMaps")
  void parserKeepsThemApart(Message message) throws InvalidProtocolBufferException {
    assertApart(message.getParserForType().parseFrom(message.toByteString()));
  }

  @ParameterizedTest
  @MethodSource("messagesWithBothMaps")
  void mergeKeepsThemApart(Message message) {
    assertApart(message.newBuilderForType().mergeFrom(message).build());
  }

  @ParameterizedTest
  @MethodSource("messagesWithBothMaps")
  void reflectionKeepsThemApart(Message message) {
    Message.Builder copy = message.newBuilderForType();
    message.getAllFields().forEach(copy::setField);

    assertApart(copy.build());
  }

  @ParameterizedTest
  @MethodSource("messagesWithBothMaps")
  void clearingOneLeavesTheOther(Message message) {
    var parameters = message.getDescriptorForType().findFieldByName("parameters");
    var mutable = message.getDescriptorForType().findFieldByName("mutable_parameters");

    Message withoutFixed = message.toBuilder().clearField(parameters).build();
    assertThat(withoutFixed.getAllFields()).containsOnlyKeys(mutable);
    Message withoutMutable = message.toBuilder().clearField(mutable).build();
    assertThat(withoutMutable.getAllFields()).containsOnlyKeys(parameters);
    assertThat(message.toBuilder().clear().build().getAllFields()).isEmpty();
  }

  /** Reads the bytes without generated code: what another program sees. */
  private static void assertApart(Message message) {
    try {
      DynamicMessage seen =
          DynamicMessage.parseFrom(message.getDescriptorForType(), message.toByteString());
      assertThat(seen.getAllFields()).hasSize(2);
      assertThat(entry(seen, "parameters")).isEqualTo("pool=replicated");
      assertThat(entry(seen, "mutable_parameters")).isEqualTo("reclaim=daily");
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static String entry(Message message, String map) {
    var field = message.getDescriptorForType().findFieldByName(map);
    assertThat(message.getRepeatedFieldCount(field)).isEqualTo(1);
    Message entry = (Message) message.getRepeatedField(field, 0);
    var type = entry.getDescriptorForType();
    return entry.getField(type.findFieldByNumber(1))
        + "="
        + entry.getField(type.findFieldByNumber(2));
  }
}
