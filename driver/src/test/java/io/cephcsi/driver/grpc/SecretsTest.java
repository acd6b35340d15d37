package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.UnknownFieldSet;
import io.cephcsi.driver.testing.FilledMessages;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.CsiProto;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SecretsTest {
  private static final String MARKER = "AQDYxsBgSECRET==";

  static List<Descriptor> messagesWithSecrets() {
    return FilledMessages.types().filter(SecretsTest::hasSecret).toList();
  }

  private static boolean hasSecret(Descriptor type) {
    return type.getFields().stream().anyMatch(SecretsTest::isSecret);
  }

  private static boolean isSecret(FieldDescriptor field) {
    return field.getOptions().getExtension(CsiProto.csiSecret)
        || field.getName().equals("secrets")
        || field.getName().endsWith("secret")
        || field.getName().equals("encryption_key");
  }

  @Test
  void allProtosButIdentityHaveMessagesWithSecrets() {
    assertThat(messagesWithSecrets()).hasSizeGreaterThan(30);
    assertThat(messagesWithSecrets().stream().map(Descriptor::getFile).distinct()).hasSize(6);
  }

  @Test
  void eachLineOfASecretIsHiddenInTexts() {
    CreateVolumeRequest request =
        CreateVolumeRequest.newBuilder()
            .putSecrets("encryptionPassphrase", "first-secret\r\nsecond-secret\n")
            .putSecrets("userID", "a-long-name")
            .build();
    assertThat(KeyMaterial.hide("it says second-secret twice", Secrets.values(request)))
        .isEqualTo("it says ***stripped*** twice");
    assertThat(Secrets.values(request)).containsOnly("first-secret", "second-secret");
  }

  @ParameterizedTest
  @MethodSource("messagesWithSecrets")
  void noSecretOfAnyMessageIsShown(Descriptor type) {
    Message filled =
        FilledMessages.fill(type, field -> isSecret(field) ? MARKER : "v-" + field.getName());
    assertThat(filled.toString()).contains(MARKER);
    String shown = Secrets.show(filled);
    assertThat(shown).doesNotContain(MARKER).contains("***stripped***").doesNotContain("\n");
    for (FieldDescriptor field : type.getFields()) {
      boolean text = field.getJavaType() == FieldDescriptor.JavaType.STRING || field.isMapField();
      if (text && !isSecret(field)) {
        assertThat(shown).as("what is no secret is shown").contains("v-" + field.getName());
      }
    }
  }

  @Test
  void theNamesOfSecretsAreShown() {
    String shown =
        Secrets.show(
            CreateVolumeRequest.newBuilder()
                .setName("pvc-1")
                .putSecrets("userID", "csi")
                .putSecrets("userKey", MARKER)
                .putParameters("pool", "rbd")
                .build());
    assertThat(shown)
        .contains("pvc-1", "userID", "userKey", "\"pool\"", "\"rbd\"")
        .doesNotContain(MARKER)
        .doesNotContain("\"csi\"");
  }

  @Test
  void aKeyThatTheInterfaceDoesNotMarkIsStrippedToo() {
    assertThat(
            Secrets.show(
                EncryptionKeyRotateRequest.newBuilder()
                    .setVolumeId("v")
                    .setEncryptionKey(MARKER)
                    .build()))
        .contains("encryption_key: \"***stripped***\"")
        .doesNotContain(MARKER);
  }

  @Test
  void nestedMessagesKeepWhatIsNoSecret() {
    VolumeCapability capability =
        VolumeCapability.newBuilder()
            .setMount(VolumeCapability.MountVolume.newBuilder().setFsType("xfs").addMountFlags("x"))
            .build();
    assertThat(
            Secrets.show(
                NodeReclaimSpaceRequest.newBuilder()
                    .setVolumeCapability(capability)
                    .putSecrets("userKey", MARKER)
                    .build()))
        .contains("fs_type: \"xfs\"", "mount_flags: \"x\"")
        .doesNotContain(MARKER);
  }

  @Test
  void fieldsOfANewerInterfaceMayBeSecretsAndAreNotShown() {
    UnknownFieldSet unknown =
        UnknownFieldSet.newBuilder()
            .addField(
                999,
                UnknownFieldSet.Field.newBuilder()
                    .addLengthDelimited(ByteString.copyFromUtf8(MARKER))
                    .build())
            .build();
    CreateVolumeRequest request =
        CreateVolumeRequest.newBuilder()
            .setName("pvc-1")
            .addVolumeCapabilities(VolumeCapability.newBuilder().setUnknownFields(unknown))
            .setUnknownFields(unknown)
            .build();
    assertThat(request.toString()).contains(MARKER);
    assertThat(Secrets.show(request)).contains("pvc-1").doesNotContain(MARKER);
  }

  @Test
  void theMessageItselfIsNotChanged() {
    CreateVolumeRequest request =
        CreateVolumeRequest.newBuilder().putSecrets("userKey", MARKER).build();
    assertThat(Secrets.show(request)).doesNotContain(MARKER);
    assertThat(request.getSecretsMap()).containsEntry("userKey", MARKER);
  }
}
