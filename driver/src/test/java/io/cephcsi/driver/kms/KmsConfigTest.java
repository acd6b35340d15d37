package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class KmsConfigTest {
  private static final String VOLUME =
      "0001-0024-b9127830-b0cc-4e34-aa47-9d1a2e9949a8-0000000000000002"
          + "-c2c1f7b5-7d8d-11eb-9e2c-0242ac110002";
  private static final KeyOwner OWNER =
      new KeyOwner(VOLUME, Optional.of("shop"), Map.of(SecretPassphrase.KEY, "test_passphrase"));

  @TempDir private static Path folder;
  private static TestKeys keys;
  @TempDir private Path configured;

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(folder, "EC", "ip:127.0.0.1");
  }

  private Path file() {
    return configured.resolve("config.json");
  }

  private KmsConfig config() {
    return new KmsConfig(file(), Optional.empty(), Map.of());
  }

  private void write(String json) throws IOException {
    Files.writeString(file(), json);
  }

  @Test
  void theDefaultNeedsNoConfiguration() {
    for (String id : new String[] {"", "default"}) {
      SharedPassphrase kms = (SharedPassphrase) config().require(id);
      assertThat(kms.passphrase(OWNER).text()).isEqualTo("test_passphrase");
      assertThat(kms.id()).isEqualTo("default");
      assertThat(kms.canReplace()).isFalse();
    }
    KeyOwner without = new KeyOwner(VOLUME, Optional.empty(), Map.of());
    SharedPassphrase kms = (SharedPassphrase) config().require("default");
    assertThatThrownBy(() -> kms.passphrase(without))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("encryptionPassphrase");
  }

  @Test
  void aChangedFileIsReadAgain() throws IOException {
    assertThatThrownBy(() -> config().require("user-secret")).hasMessageContaining("no file");
    write("{\"user-secret\": {\"encryptionKMSType\": \"metadata\"}}");
    KmsConfig config = config();
    Kms first = config.require("user-secret");
    assertThat(config.require("user-secret")).isSameAs(first);
    assertThat(first.id()).isEqualTo("user-secret");
    write("{\"other\": {\"KMS_PROVIDER\": \"metadata\"}}");
    assertThat(config.require("other").id()).isEqualTo("other");
    assertThatThrownBy(() -> config.require("user-secret"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("user-secret")
        .hasMessageContaining(file().toString());
  }

  @Test
  void aKmsIsByTenantIfWhatItAnswersDependsOnTheTenant() throws IOException {
    assertThat(config().require("default").isByTenant()).isFalse();
    String vault = "\", \"vaultAddress\": \"https://vault:8200";
    assertThat(isByTenant("vault" + vault)).isFalse();
    assertThat(isByTenant("vaulttokens" + vault)).isTrue();
    assertThat(isByTenant("vaulttenantsa" + vault)).isTrue();
    assertThat(isByTenant("metadata")).isFalse();
    assertThat(isByTenant("metadata\", \"secretName\": \"storage")).isTrue();
    assertThat(isByTenant("metadata\", \"secretName\": \"storage\", \"secretNamespace\": \"ceph"))
        .isFalse();
    assertThat(isByTenant("aws-metadata\", \"AWS_REGION\": \"eu-west-1")).isFalse();
    assertThat(isByTenant("aws-sts-metadata")).isTrue();
  }

  private boolean isByTenant(String type) throws IOException {
    write("{\"a\": {\"encryptionKMSType\": \"" + type + "\"}}");
    return config().require("a").isByTenant();
  }

  @Test
  void whatIsWrongIsNamedByFileIdAndField() throws IOException {
    assertWrong("[]", "must be one JSON object");
    assertWrong("{\"a\": {}, \"a\": {}}", "a field twice");
    assertWrong("{\"a\": {\"secret-value", "line 1");
    assertWrong("{\"a\": {}} {}", "must be one JSON object");
    assertWrong("{\"a\": []}", "KMS a in");
    assertWrong("{\"a\": {}}", "encryptionKMSType is missing");
    assertWrong("{\"a\": {\"encryptionKMSType\": true}}", "must be a text in quotes");
    assertWrong("{\"a\": {\"encryptionKMSType\": \"no\\nsuch\"}}", "not \"no\\u000asuch\"");
    assertWrong(
        "{\"a\": {\"encryptionKMSType\": \"metadata\", \"secretName\": 1}}", "secretName must");
    assertWrong("{" + " ".repeat(2 << 20) + "}", "more than");
  }

  private void assertWrong(String json, String message) throws IOException {
    write(json);
    assertThatThrownBy(() -> config().require("a"))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining(message)
        .hasMessageContaining(file().toString())
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-value"));
  }

  @Test
  void anUnknownFieldIsNamedInTheLog() throws IOException {
    write("{\"a\": {\"encryptionKMSType\": \"metadata\", \"secretNmae\": \"secret-value\"}}");
    try (Logged log = Logged.by(KmsTypes.class)) {
      config().require("a");
      assertThat(log.lines()).hasSize(1);
      assertThat(log.lines().get(0)).contains("WARN", "KMS a", "secretNmae");
      assertThat(log.lines().get(0)).doesNotContain("secret-value");
    }
  }

  @Test
  void withoutAFileTheConfigMapHasTheSections() throws Exception {
    try (TestKubernetes kubernetes = TestKubernetes.start(keys, configured)) {
      kubernetes.configMap(
          "ceph", "csi-kms-connection-details", Map.of("m", "{\"KMS_PROVIDER\": \"metadata\"}"));
      kubernetes.configMap("ceph", "mine", Map.of("n", "{\"KMS_PROVIDER\": \"metadata\"}"));
      Path none = configured.resolve("none.json");
      KmsConfig config = new KmsConfig(none, Optional.of(kubernetes.api()), Map.of());
      assertThat(config.require("m").id()).isEqualTo("m");
      assertThatThrownBy(() -> config.require("n"))
          .hasMessageContaining("ConfigMap ceph/csi-kms-connection-details");
      KmsConfig named =
          new KmsConfig(none, Optional.of(kubernetes.api()), Map.of("KMS_CONFIGMAP_NAME", "mine"));
      assertThat(named.require("n").id()).isEqualTo("n");
      kubernetes.forbid("configmaps/mine");
      assertNotConfigured(named, "ConfigMap ceph/mine", "no right to get it");
    }
  }

  private static void assertNotConfigured(KmsConfig config, String... texts) {
    assertThatThrownBy(() -> config.require("n"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .message()
        .startsWith("KMS n is not configured: there is no file ")
        .contains(texts);
  }

  @Test
  void whoeverHasSetUpNeitherFileNorAccountIsToldSo() throws Exception {
    Path none = configured.resolve("none.json");
    try (TestKubernetes kubernetes = TestKubernetes.start(keys, configured)) {
      KubernetesApi nowhere =
          new KubernetesApi(configured.resolve("account"), kubernetes.server().address(), "");
      assertNotConfigured(new KmsConfig(none, Optional.of(nowhere), Map.of()), "set POD_NAMESPACE");
      KmsConfig config = new KmsConfig(none, Optional.of(kubernetes.api()), Map.of());
      assertNotConfigured(config, "and no ConfigMap ceph/csi-kms-connection-details");
      Files.delete(configured.resolve("account/token"));
      assertNotConfigured(config, "the token of this pod is not there");
      Files.writeString(configured.resolve("account/token"), "another");
      assertThatThrownBy(() -> config.require("n"))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
          .hasMessageContaining("status 401");
    }
  }

  @Test
  void theKeyOfTheVectorIsMade() {
    byte[] key =
        new ScryptKeys(Duration.ZERO)
            .key("test_passphrase".getBytes(UTF_8), VOLUME, Deadline.after(Duration.ofSeconds(9)));
    assertThat(java.util.HexFormat.of().formatHex(key))
        .isEqualTo("acdcdb9375bea06ff65cf8b01e665c9f6ef86f5e8433346b4c678dbf628db933");
  }
}
