package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import io.cephcsi.driver.testing.FilledMessages;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTextTest {
  static List<Descriptor> requests() {
    return MethodCatalog.names().stream()
        .map(name -> MethodCatalog.find(name).getInputType())
        .distinct()
        .toList();
  }

  @ParameterizedTest
  @MethodSource("requests")
  void noTextOfAnyRequestMayHaveANul(Descriptor type) {
    assertThatCode(() -> RequestText.check(FilledMessages.fill(type, field -> "v")))
        .doesNotThrowAnyException();
    Set<FieldDescriptor> texts = new LinkedHashSet<>();
    FilledMessages.fill(
        type,
        field -> {
          texts.add(field);
          return "v";
        });
    for (FieldDescriptor text : texts) {
      Message message = FilledMessages.fill(type, field -> field.equals(text) ? "a\0b" : "v");
      boolean isText = text.getJavaType() == JavaType.STRING || text.isMapField();
      // Of the fields of a oneof only the last one is set.
      if (isText && message.toString().contains("a\\000b")) {
        refused(text.getName(), message);
      }
    }
  }

  @Test
  void theRequestsHaveTexts() {
    assertThat(requests()).hasSizeGreaterThan(40);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\0", "a\n", "\u007f", "\u0085", "\u202e", "\ufeff"})
  void keysAndValuesOfMapsAreChecked(String text) {
    refused("parameters", CreateVolumeRequest.newBuilder().putParameters(text, "v").build());
    refused(
        "parameters: volumeNamePrefix",
        CreateVolumeRequest.newBuilder().putParameters("volumeNamePrefix", text).build());
    refused("secrets", CreateVolumeRequest.newBuilder().putSecrets(text, "v").build());
  }

  @Test
  void aSecretMayEndInALineBreakAndIsNeverShown() {
    allowed(CreateVolumeRequest.newBuilder().putSecrets("userKey", "AQ==\r\n").build());
    Message message = CreateVolumeRequest.newBuilder().putSecrets("userKey", "AQ\n==").build();
    refused("secrets: userKey", message);
    assertThatThrownBy(() -> RequestText.check(message)).hasMessageNotContaining("AQ");
  }

  /** A certificate, and whatever a passphrase has. */
  @ParameterizedTest
  @ValueSource(strings = {"-----BEGIN CERTIFICATE-----\nAQ==\n-----END CERTIFICATE-----\n", "a\tb"})
  void aSecretThatIsNotOfCephMayHaveLinesButNoNul(String text) {
    allowed(CreateVolumeRequest.newBuilder().putSecrets("vaultCa", text).build());
    refused(
        "secrets: vaultCa",
        CreateVolumeRequest.newBuilder().putSecrets("vaultCa", text + "\0").build());
    refused(
        "parameters: vaultCa",
        CreateVolumeRequest.newBuilder().putParameters("vaultCa", text).build());
    for (String ofCeph : List.of("userID", "userKey", "adminID", "adminKey", "adminId", "key")) {
      refused(
          "secrets: " + ofCeph, CreateVolumeRequest.newBuilder().putSecrets(ofCeph, text).build());
    }
  }

  @Test
  void theJsonOfAStorageClassMayHaveLines() {
    allowed(
        CreateVolumeRequest.newBuilder()
            .putParameters("topologyConstrainedPools", "[\n\t{}\n]\n")
            .build());
    refused(
        "topologyConstrainedPools",
        CreateVolumeRequest.newBuilder().putParameters("topologyConstrainedPools", "[\0]").build());
  }

  private static void allowed(Message message) {
    assertThatCode(() -> RequestText.check(message)).doesNotThrowAnyException();
  }

  private static void refused(String field, Message message) {
    assertThatThrownBy(() -> RequestText.check(message))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(field);
  }
}
