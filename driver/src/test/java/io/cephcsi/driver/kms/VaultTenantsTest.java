package io.cephcsi.driver.kms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer.Asked;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.awaitility.Awaitility;
import org.hamcrest.Matchers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class VaultTenantsTest {
  private static final KeyOwner SHOP = new KeyOwner("volume-1", Optional.of("shop"), Map.of());
  private static final KeyOwner BANK = new KeyOwner("volume-2", Optional.of("bank"), Map.of());
  private static final Passphrase PASSPHRASE = Passphrase.random();

  @TempDir private static Path keysFolder;
  private static TestKeys keys;
  @TempDir private Path folder;
  private TestVault vault;
  private TestKubernetes kubernetes;

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(keysFolder, "EC", "ip:127.0.0.1");
  }

  @BeforeEach
  void start() throws Exception {
    vault = TestVault.start(keys);
    kubernetes = TestKubernetes.start(keys, folder);
    kubernetes.secret("ceph", "vault-ca", Map.of("cert", keys.certificate()));
    kubernetes.secret("shop", "ceph-csi-kms-token", Map.of("token", "secret-of-shop\n"));
    kubernetes.secret("bank", "ceph-csi-kms-token", Map.of("token", "secret-of-bank"));
    vault.token("secret-of-shop");
    vault.token("secret-of-bank");
  }

  @AfterEach
  void stop() {
    vault.close();
    kubernetes.close();
  }

  private KeyStore kms(Map<String, ?> fields) throws Exception {
    Map<String, Object> section = new LinkedHashMap<>();
    section.put("vaultAddress", vault.address());
    section.put("vaultCAFromSecret", "vault-ca");
    section.putAll(fields);
    Path file = folder.resolve("config.json");
    Files.writeString(file, RestCalls.json(Map.of("vault-2", section)));
    return (KeyStore)
        new KmsConfig(file, Optional.of(kubernetes.api()), Map.of()).require("vault-2");
  }

  private KeyStore tokens() throws Exception {
    return kms(Map.of("encryptionKMSType", "vaulttokens"));
  }

  private Asked last() {
    return vault.server().asked().get(vault.server().asked().size() - 1);
  }

  @Test
  void eachTenantHasItsOwnToken() throws Exception {
    KeyStore kms = tokens();
    kms.storeIfAbsent(SHOP, PASSPHRASE);
    assertThat(last().token()).isEqualTo("secret-of-shop");
    assertThat(last().path()).isEqualTo("/v1/secret/data/volume-1");
    kms.storeIfAbsent(BANK, PASSPHRASE);
    assertThat(last().token()).isEqualTo("secret-of-bank");
    kubernetes.secret("shop", "ceph-csi-kms-token", Map.of("token", "secret-revoked"));
    assertThatThrownBy(() -> kms.find(SHOP))
        .hasMessageContaining("permission denied")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-revoked"));
    kubernetes.secret("shop", "ceph-csi-kms-token", Map.of("token", "secret with blanks"));
    assertThatThrownBy(() -> kms.find(SHOP))
        .hasMessageContaining("key token of Secret shop/ceph-csi-kms-token")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret with"));
    KeyOwner nobody = new KeyOwner("volume-1", Optional.empty(), Map.of());
    assertThatThrownBy(() -> kms.find(nobody)).hasMessageContaining("namespace of the claim");
    KeyOwner without = new KeyOwner("volume-1", Optional.of("zoo"), Map.of());
    assertThatThrownBy(() -> kms.find(without))
        .hasMessageContaining("no Secret ceph-csi-kms-token in the namespace zoo");
  }

  @Test
  void theTenantsConfigMapPrecedesTheEntryAndThatTheSection() throws Exception {
    KeyStore kms =
        kms(
            Map.of(
                "encryptionKMSType",
                "vaulttokens",
                "vaultBackendPath",
                "secret/",
                "tenants",
                Map.of("bank", Map.of("vaultBackendPath", "tenant/", "tenantTokenName", "own"))));
    kubernetes.secret("bank", "own", Map.of("token", "secret-of-bank"));
    kms.find(SHOP);
    assertThat(last().path()).isEqualTo("/v1/secret/data/volume-1");
    kms.find(BANK);
    assertThat(last().path()).isEqualTo("/v1/tenant/data/volume-2");
    kubernetes.configMap(
        "bank",
        "ceph-csi-kms-config",
        Map.of(
            "vaultBackendPath", "old", "vaultNamespace", "team", "tenantTokenName", "not-allowed"));
    try (Logged log = Logged.by(KmsTypes.class)) {
      kms.find(BANK);
      kms.find(BANK);
      assertThat(log.lines()).hasSize(1);
      assertThat(log.lines().get(0)).contains("ConfigMap bank/", "tenantTokenName");
    }
    assertThat(last().path()).isEqualTo("/v1/team/old/volume-2");
    kms.find(SHOP);
    assertThat(last().path()).isEqualTo("/v1/secret/data/volume-1");
  }

  @Test
  void anotherVaultOfATenantGetsThatTenantsTokenOnly() throws Exception {
    KeyStore kms = tokens();
    kms.find(SHOP);
    try (TestVault theirs = TestVault.start(keys)) {
      kubernetes.configMap("bank", "ceph-csi-kms-config", Map.of("vaultAddress", theirs.address()));
      assertThatThrownBy(() -> kms.find(BANK)).hasMessageContaining("permission denied");
      assertThat(theirs.server().asked()).allMatch(one -> one.token().equals("secret-of-bank"));
      assertThat(theirs.server().asked()).isNotEmpty();
      kms.find(SHOP);
      assertThat(last().token()).isEqualTo("secret-of-shop");
    }
    kubernetes.configMap("bank", "ceph-csi-kms-config", Map.of("vaultCAFromSecret", "vault-ca"));
    assertThatThrownBy(() -> kms.find(BANK)) // of the driver's namespace
        .hasMessageContaining("no Secret vault-ca in the namespace bank,");
    kubernetes.configMap("bank", "ceph-csi-kms-config", Map.of("vaultAddress", "file:///etc"));
    assertThatThrownBy(() -> kms.find(BANK)).hasMessageContaining("ConfigMap bank/");
  }

  /** Each change of its ConfigMap makes another connection. */
  @Test
  void allCallsOfATenantWhoseVaultIsSilentAreBounded() throws Exception {
    KeyStore kms = tokens();
    CountDownLatch silence = new CountDownLatch(1);
    ExecutorService threads = Executors.newCachedThreadPool();
    try (TestVault theirs = TestVault.start(keys)) {
      theirs.token("secret-of-bank");
      theirs.beforeRead(() -> await(silence));
      List<CompletableFuture<Boolean>> calls = new ArrayList<>();
      for (String path : List.of("secret", "tenant")) {
        kubernetes.configMap(
            "bank",
            "ceph-csi-kms-config",
            Map.of("vaultAddress", theirs.address(), "vaultBackendPath", path));
        for (int i = 0; i < 8; i++) {
          calls.add(CompletableFuture.supplyAsync(() -> kms.find(BANK).isEmpty(), threads));
        }
        Awaitility.await()
            .atMost(Duration.ofMinutes(1))
            .until(
                () -> theirs.server().count("GET", "/v1/" + path),
                Matchers.greaterThanOrEqualTo(8L));
      }
      kubernetes.configMap(
          "bank",
          "ceph-csi-kms-config",
          Map.of("vaultAddress", theirs.address(), "vaultBackend", "kv-v2"));
      assertThatThrownBy(() -> kms.find(BANK))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
          .hasMessageContaining("16 calls wait for it already");
      assertThat(kms.find(SHOP)).isEmpty();
      assertThat(calls).noneMatch(CompletableFuture::isDone);
      silence.countDown();
      assertThat(calls).allMatch(CompletableFuture::join);
      assertThat(kms.find(BANK)).isEmpty();
    } finally {
      silence.countDown();
      threads.shutdownNow();
    }
  }

  private static void await(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What is kept of it would be kept of 200 tenants. */
  @Test
  void aConfigMapOfATenantHasItsBounds() throws Exception {
    KeyStore kms = tokens();
    Map<String, String> data = new LinkedHashMap<>();
    for (int i = 0; i < 100; i++) {
      data.put("unknown-" + i, "x".repeat(5000));
    }
    kubernetes.configMap("bank", "ceph-csi-kms-config", data);
    assertThat(kms.find(BANK)).isEmpty();
    data.put("unknown-100", "");
    kubernetes.configMap("bank", "ceph-csi-kms-config", data);
    assertInvalid("ConfigMap bank/ceph-csi-kms-config: it has more than 100 keys", kms);
    kubernetes.configMap(
        "bank", "ceph-csi-kms-config", Map.of("vaultBackendPath", "secret" + "/".repeat(1018)));
    assertThat(kms.find(BANK)).isEmpty();
    kubernetes.configMap(
        "bank", "ceph-csi-kms-config", Map.of("vaultBackendPath", "secret" + "/".repeat(1019)));
    assertInvalid("vaultBackendPath must have at most 1024 characters", kms);
    for (int i = 0; i < 30_000; i++) {
      data.put("k" + i, "");
    }
    kubernetes.configMap("bank", "ceph-csi-kms-config", data);
    assertThatThrownBy(() -> kms.find(BANK)).hasMessageContaining("at most 50000 parts");
    assertThat(kms.find(SHOP)).isEmpty();
  }

  private static void assertInvalid(String text, KeyStore kms) {
    assertThatThrownBy(() -> kms.find(BANK))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(text);
  }

  /** ceph-csi's examples have this word. */
  @Test
  void version1MayBeCalledSo() throws Exception {
    KeyStore kms = tokens();
    kubernetes.configMap(
        "bank", "ceph-csi-kms-config", Map.of("vaultBackend", "kv-v1", "vaultBackendPath", "old/"));
    kms.storeIfAbsent(BANK, PASSPHRASE).close();
    assertThat(last().path()).isEqualTo("/v1/old/volume-2");
    assertThat(vault.server().count("GET", "/v1/sys/mounts")).isZero();
  }

  /** A namespace goes with all that is in it, often before its volumes. */
  @Test
  void aPassphraseOfATenantThatIsGoneIsNoReasonToFail() throws Exception {
    KeyStore kms = tokens();
    kms.storeIfAbsent(SHOP, PASSPHRASE).close();
    vault.fail(5, 503);
    assertThatThrownBy(() -> kms.remove(SHOP)).hasMessageContaining("status 503");
    kubernetes.secret("shop", "ceph-csi-kms-token", Map.of("token", "secret-revoked"));
    assertThatThrownBy(() -> kms.remove(SHOP)).hasMessageContaining("permission denied");
    kubernetes.forbid("shop/secrets/ceph-csi-kms-token");
    assertThatThrownBy(() -> kms.remove(SHOP)).hasMessageContaining("no right to get it");
    kms.storeIfAbsent(BANK, PASSPHRASE).close();
    kubernetes.forget("bank", "secrets", "ceph-csi-kms-token");
    KeyStore byAccount = kms(Map.of("encryptionKMSType", "vaulttenantsa"));
    try (Logged log = Logged.by(VaultKms.class)) {
      kms.remove(BANK);
      byAccount.remove(BANK);
      assertThat(log.lines()).hasSize(2);
      assertThat(log.lines().get(0)).contains("passphrase of volume-2 stays in KMS vault-2");
    }
    assertThat(vault.newest("secret/volume-2")).contains(PASSPHRASE.text());
    assertThatThrownBy(() -> kms.find(BANK)).hasMessageContaining("no Secret ceph-csi-kms-token");
    kubernetes.account("bank", "ceph-csi-vault-sa");
    assertThatThrownBy(() -> byAccount.remove(BANK)).hasMessageContaining("refuses the login");
  }

  @Test
  void theDriversCertificateIsForTheServerOfTheSectionOnly() throws Exception {
    kubernetes.secret("ceph", "client", Map.of("cert", keys.certificate(), "key", keys.key()));
    try (TestVault strict = TestVault.forClientsWithCertificate(keys)) {
      strict.token("secret-of-shop");
      Map<String, String> fields =
          Map.of(
              "encryptionKMSType",
              "vaulttokens",
              "vaultAddress",
              strict.address(),
              "vaultClientCertFromSecret",
              "client",
              "vaultClientCertKeyFromSecret",
              "client");
      KeyStore kms = kms(fields);
      assertThat(kms.find(SHOP)).isEmpty();
      kubernetes.configMap("shop", "ceph-csi-kms-config", Map.of("vaultAddress", strict.address()));
      assertThatThrownBy(() -> kms.find(SHOP))
          .hasMessageContaining("no Secret client in the namespace shop,");
      kubernetes.secret("shop", "client", Map.of("cert", keys.certificate(), "key", "secret-bad"));
      assertThatThrownBy(() -> kms.find(SHOP))
          .hasMessageContaining("key key of Secret shop/client")
          .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-bad"));
    }
  }

  @Test
  void aServiceAccountOfTheTenantLogsIn() throws Exception {
    vault.role("kubernetes", "csi-kubernetes", "secret-token-shop.ceph-csi-vault-sa");
    vault.role("admin/bank-k8s", "bank", "secret-token-bank.vault");
    kubernetes.account("shop", "ceph-csi-vault-sa");
    kubernetes.account("bank", "vault");
    kubernetes.configMap(
        "bank",
        "ceph-csi-kms-config",
        Map.of(
            "tenantSAName", "vault",
            "vaultRole", "bank",
            "vaultAuthPath", "/v1/auth/bank-k8s/login",
            "vaultAuthNamespace", "admin/",
            "vaultNamespace", "team"));
    KeyStore kms = kms(Map.of("encryptionKMSType", "vaulttenantsa"));
    kms.storeIfAbsent(SHOP, PASSPHRASE);
    kms.storeIfAbsent(BANK, PASSPHRASE);
    assertThat(last().path()).isEqualTo("/v1/team/secret/data/volume-2");
    assertThat(vault.logins()).isEqualTo(2);
    assertThat(kms.find(SHOP).orElseThrow().isSame(PASSPHRASE)).isTrue();
    assertThat(vault.logins()).isEqualTo(2);
    kubernetes.forbid("shop/serviceaccounts/ceph-csi-vault-sa/token");
    assertThat(kms.find(SHOP)).isPresent(); // by the token that it has
    vault.revokeAll();
    assertThatThrownBy(() -> kms.find(SHOP))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("no right to create it")
        .hasMessageContaining("token of ServiceAccount shop/ceph-csi-vault-sa");
    KeyOwner zoo = new KeyOwner("volume-1", Optional.of("zoo"), Map.of());
    assertThatThrownBy(() -> kms.find(zoo)).hasMessageContaining("no such account");
  }

  @Test
  void fieldsMayHaveTheNamesOfVaultsEnvironment() throws Exception {
    Map<String, String> fields =
        Map.of(
            "KMS_PROVIDER", "vaulttokens",
            "vaultAddress", "",
            "VAULT_ADDR", vault.address(),
            "VAULT_BACKEND_PATH", "tenant",
            "VAULT_BACKEND", "kv-v2",
            "VAULT_SKIP_VERIFY", "true",
            "VAULT_NAMESPACE", "team",
            "VAULT_DESTROY_KEYS", "false",
            "VAULT_CACERT", "vault-ca");
    Map<String, Object> section = new LinkedHashMap<>(fields);
    section.remove("vaultAddress");
    Path file = folder.resolve("environment.json");
    Files.writeString(file, RestCalls.json(Map.of("env", section)));
    try (Logged log = Logged.by(KmsTypes.class)) {
      KeyStore kms =
          (KeyStore) new KmsConfig(file, Optional.of(kubernetes.api()), Map.of()).require("env");
      assertThat(log.lines()).isEmpty();
      kms.remove(SHOP);
      assertThat(last().path()).isEqualTo("/v1/team/tenant/data/volume-1");
    }
  }
}
