package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MetadataKmsTest {
  private static final String VOLUME =
      "0001-0024-b9127830-b0cc-4e34-aa47-9d1a2e9949a8-0000000000000002"
          + "-c2c1f7b5-7d8d-11eb-9e2c-0242ac110002";
  private static final String DEK = "AAECAwQFBgcICQoLDA0ODxAREhM=";
  private static final String WRAPPED =
      "{\"dek\":\"yMhsWxKU0Izd7u8XHkHp5e21RRTxritllZxRHPLKcNUk8rh039NTMowoctE=\","
          + "\"nonce\":\"AAECAwQFBgcICQoL\"}";
  private static final KeyOwner OWNER =
      new KeyOwner(VOLUME, Optional.of("shop"), Map.of(SecretPassphrase.KEY, "test_passphrase"));

  private static MetadataKms kms(Duration kept) {
    MetadataKms.Source source = (owner, deadline) -> SecretPassphrase.of(owner.secrets());
    return new MetadataKms("m", false, source, new ScryptKeys(kept));
  }

  @Test
  void thePassphraseIsWrappedByteForByteAsCephCsiDoes() {
    byte[] nonce = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    Passphrase dek = Passphrase.of(DEK.getBytes(UTF_8));
    assertThat(kms(Duration.ZERO).wrap(OWNER, dek, nonce)).isEqualTo(WRAPPED);
    assertThat(kms(Duration.ZERO).unwrap(OWNER, WRAPPED).text()).isEqualTo(DEK);
  }

  @Test
  void eachWrapHasAnotherNonce() {
    MetadataKms kms = kms(ScryptKeys.KEPT);
    Passphrase dek = Passphrase.random();
    String first = kms.wrap(OWNER, dek);
    assertThat(kms.wrap(OWNER, dek)).isNotEqualTo(first);
    assertThat(kms.unwrap(OWNER, first).isSame(dek)).isTrue();
  }

  @Test
  void anotherPassphraseVolumeOrTextIsRefused() {
    MetadataKms kms = kms(ScryptKeys.KEPT);
    assertThat(kms.unwrap(OWNER, WRAPPED).text()).isEqualTo(DEK); // its key is kept now
    KeyOwner another =
        new KeyOwner(VOLUME, OWNER.tenant(), Map.of(SecretPassphrase.KEY, "secret_another"));
    assertRefused(kms, another, WRAPPED);
    assertRefused(kms, OWNER.of(VOLUME.replace('5', '6')), WRAPPED);
    for (String text :
        new String[] {
          "",
          "[]",
          "{}",
          "{\"dek\":1}",
          WRAPPED.replace("yMh", "yMi"),
          WRAPPED.replace("AAEC", "AAED"),
          WRAPPED.replace("AAEC", ""),
          WRAPPED.replace("yMh", "!!!"),
          "{\"dek\":\"" + "A".repeat(100_000) + "\",\"nonce\":\"AAECAwQFBgcICQoL\"}"
        }) {
      assertRefused(kms, OWNER, text);
    }
  }

  private static void assertRefused(MetadataKms kms, KeyOwner owner, String wrapped) {
    assertThatThrownBy(() -> kms.unwrap(owner, wrapped))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining("KMS m")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret_another"));
  }

  @Test
  void aKeyIsKeptForThoseWhoHaveThePassphraseUntilItIsWiped() {
    ScryptKeys keys = new ScryptKeys(ScryptKeys.KEPT);
    Deadline none = Deadline.after(Duration.ZERO);
    Deadline time = Deadline.after(Duration.ofSeconds(30));
    byte[] passphrase = "test_passphrase".getBytes(UTF_8);
    byte[] first = keys.key(passphrase, VOLUME, time);
    byte[] expected = first.clone();
    java.util.Arrays.fill(first, (byte) 0); // the caller's copy
    assertThat(keys.key(passphrase, VOLUME, none)).isEqualTo(expected);
    assertThat(keys.key("other".getBytes(UTF_8), VOLUME, time)).isNotEqualTo(expected);
    assertThat(keys.key(passphrase, "another", time)).isNotEqualTo(expected);
    keys.clear();
    long start = System.nanoTime();
    assertThat(keys.key(passphrase, VOLUME, time)).isEqualTo(expected);
    long made = System.nanoTime() - start;
    start = System.nanoTime();
    assertThat(keys.key(passphrase, VOLUME, time)).isEqualTo(expected);
    assertThat(System.nanoTime() - start).isLessThan(made / 3);
  }

  @Test
  void aSecretOfTheTenantHasThePassphrase(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("config.json");
    Files.writeString(
        file,
        "{\"tenant\": {\"encryptionKMSType\": \"metadata\", \"secretName\": \"storage\"},"
            + "\"one\": {\"encryptionKMSType\": \"metadata\", \"secretName\": \"storage\","
            + " \"secretNamespace\": \"ceph\"}}");
    TestKeys tls = TestKeys.make(folder, "EC", "ip:127.0.0.1");
    try (TestKubernetes kubernetes = TestKubernetes.start(tls, folder)) {
      kubernetes.secret("shop", "storage", Map.of(SecretPassphrase.KEY, "test_passphrase"));
      KmsConfig config = new KmsConfig(file, Optional.of(kubernetes.api()), Map.of());
      KeyOwner owner = new KeyOwner(VOLUME, Optional.of("shop"), Map.of());
      KeyWrapper kms = (KeyWrapper) config.require("tenant");
      assertThat(kms.unwrap(owner, WRAPPED).text()).isEqualTo(DEK);
      KeyOwner unknown = new KeyOwner(VOLUME, Optional.empty(), Map.of());
      assertThatThrownBy(() -> kms.unwrap(unknown, WRAPPED))
          .hasMessageContaining("secretNamespace");
      KeyOwner hostile = new KeyOwner(VOLUME, Optional.of("../../secrets"), Map.of());
      assertThatThrownBy(() -> kms.unwrap(hostile, WRAPPED))
          .hasMessageContaining("no name of a namespace");
      KeyWrapper one = (KeyWrapper) config.require("one");
      assertThatThrownBy(() -> one.unwrap(owner, WRAPPED))
          .hasMessageContaining("no Secret storage in the namespace ceph");
      kubernetes.secret("ceph", "storage", Map.of("other", "x"));
      assertThatThrownBy(() -> one.unwrap(owner, WRAPPED))
          .hasMessageContaining("Secret ceph/storage has no key encryptionPassphrase");
      kubernetes.forbid("ceph/secrets/storage");
      assertThatThrownBy(() -> one.unwrap(owner, WRAPPED))
          .hasMessageContaining("no right to get it")
          .satisfies(
              e -> assertThat(e.getMessage()).doesNotContain("secret-message", "secret-token"));
    }
  }
}
