package io.cephcsi.driver.kms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer.Asked;
import io.cephcsi.driver.rbd.encryption.EncryptionState;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.encryption.KeyOrigin;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.hamcrest.Matchers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class VaultKmsTest {
  private static final String VOLUME =
      "0001-0024-b9127830-b0cc-4e34-aa47-9d1a2e9949a8-0000000000000002"
          + "-c2c1f7b5-7d8d-11eb-9e2c-0242ac110002";
  private static final String DEK = "AAECAwQFBgcICQoLDA0ODxAREhM=";
  private static final Passphrase PASSPHRASE = Checks.passphrase("test", DEK);

  @TempDir private static Path keysFolder;
  private static TestKeys keys;
  @TempDir private Path folder;
  private TestVault vault;
  private TestKubernetes kubernetes;
  private KmsConfig config;

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(keysFolder, "EC", "ip:127.0.0.1");
  }

  @BeforeEach
  void start() throws Exception {
    vault = TestVault.start(keys);
    vault.role("kubernetes", "csi-kubernetes", TestKubernetes.TOKEN);
    kubernetes = TestKubernetes.start(keys, folder);
    kubernetes.secret("ceph", "vault-ca", Map.of("cert", keys.certificate()));
    config = new KmsConfig(folder.resolve("config.json"), Optional.of(kubernetes.api()), Map.of());
  }

  @AfterEach
  void stop() {
    vault.close();
    kubernetes.close();
  }

  private KeyStore kms(Map<String, ?> fields) throws Exception {
    Map<String, Object> section = new LinkedHashMap<>(Map.of("vaultAddress", vault.address()));
    section.putAll(fields);
    Files.writeString(folder.resolve("config.json"), RestCalls.json(Map.of("vault-1", section)));
    return (KeyStore) config.require("vault-1");
  }

  private KeyStore own(String... fields) throws Exception {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("encryptionKMSType", "vault");
    all.put("vaultCAFromSecret", "vaultCa");
    for (int i = 0; i < fields.length; i += 2) {
      all.put(fields[i], fields[i + 1]);
    }
    return kms(all);
  }

  private static KeyOwner owner() throws Exception {
    return new KeyOwner(VOLUME, Optional.of("shop"), Map.of("vaultCa", keys.certificate()));
  }

  private Asked lastOf(String method) {
    List<Asked> all =
        vault.server().asked().stream().filter(one -> one.method().equals(method)).toList();
    return all.get(all.size() - 1);
  }

  @Test
  void aPassphraseIsStoredAsCephCsiDoes() throws Exception {
    KeyStore kms = own("vaultPassphrasePath", "ceph-csi/");
    assertThat(kms.find(owner())).isEmpty();
    assertThat(kms.storeIfAbsent(owner(), PASSPHRASE).isSame(PASSPHRASE)).isTrue();
    Asked put = lastOf("PUT");
    assertThat(put.path()).isEqualTo("/v1/secret/data/ceph-csi/" + VOLUME);
    assertThat(put.body())
        .isEqualTo(
            "{\"data\":{\"data\":{\"passphrase\":\"" + DEK + "\"}},\"options\":{\"cas\":0}}");
    assertThat(vault.newest("secret/ceph-csi/" + VOLUME))
        .isEqualTo("{\"data\":{\"passphrase\":\"" + DEK + "\"}}");
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    assertThat(kms.find(owner().of("another"))).isEmpty();
    assertThat(vault.logins()).isEqualTo(1);
    assertThat(vault.server().count("GET", "/v1/sys/mounts")).isEqualTo(1);
    kms.remove(owner());
    kms.remove(owner());
    assertThat(vault.paths()).isEmpty();
    assertThat(lastOf("DELETE").path()).isEqualTo("/v1/secret/metadata/ceph-csi/" + VOLUME);
  }

  @Test
  void version1HasNoVersions() throws Exception {
    for (String backend : new String[] {"", "kv"}) {
      KeyStore kms = own("vaultBackendPath", "old", "vaultBackend", backend);
      assertThat(kms.find(owner())).isEmpty();
      assertThat(kms.storeIfAbsent(owner(), PASSPHRASE).text()).isEqualTo(DEK);
      assertThat(lastOf("PUT").path()).isEqualTo("/v1/old/" + VOLUME);
      assertThat(lastOf("PUT").body()).isEqualTo("{\"data\":{\"passphrase\":\"" + DEK + "\"}}");
      assertThat(kms.storeIfAbsent(owner(), Passphrase.random()).text()).isEqualTo(DEK);
      Passphrase next = Passphrase.random();
      assertAborted(() -> kms.replace(owner(), Passphrase.random(), next));
      assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
      for (int i = 0; i < 2; i++) {
        kms.replace(owner(), PASSPHRASE, next);
        assertThat(kms.find(owner()).orElseThrow().isSame(next)).isTrue();
      }
      kms.remove(owner());
      assertThat(kms.find(owner())).isEmpty();
    }
  }

  /** As a copy adopts that of its source, and compares it afterwards. */
  @Test
  void whatIsAnsweredIsClosedWithoutWipingWhatWasGiven() throws Exception {
    for (String mount : List.of("secret", "old")) {
      KeyStore kms = own("vaultBackendPath", mount);
      try (Passphrase given = Checks.passphrase("test", DEK)) {
        for (int i = 0; i < 2; i++) {
          kms.storeIfAbsent(owner(), given).close();
          assertThat(given.text()).as(mount).isEqualTo(DEK);
        }
      }
    }
  }

  /** The server takes texts only: another one would be stored. */
  @Test
  void whatIsNoTextIsNotStored() throws Exception {
    KeyStore kms = own();
    Passphrase bytes = Passphrase.of(new byte[] {(byte) 0xff, 'a'});
    assertNoText(() -> kms.storeIfAbsent(owner(), bytes));
    kms.storeIfAbsent(owner(), PASSPHRASE);
    assertNoText(() -> kms.replace(owner(), PASSPHRASE, bytes));
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    kms.replace(owner(), PASSPHRASE, Checks.passphrase("test", "pässwörd"));
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo("pässwörd");
  }

  private static void assertNoText(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("no UTF-8");
  }

  /** What was read may be older, of a standby that lags behind. */
  @Test
  void aPassphraseIsConfirmedByCheckAndSet() throws Exception {
    for (String mount : List.of("secret", "old")) {
      KeyStore kms = own("vaultBackendPath", mount);
      kms.storeIfAbsent(owner(), PASSPHRASE).close();
      kms.confirm(owner(), PASSPHRASE);
      assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
      assertAborted(() -> kms.confirm(owner(), Passphrase.random()));
      assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    }
    String newer = "{\"data\":{\"passphrase\":\"newer\"}}";
    vault.beforeWrite(() -> vault.put("secret/" + VOLUME, newer));
    KeyStore kms = own();
    assertAborted(() -> kms.confirm(owner(), PASSPHRASE));
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo("newer");
  }

  /** A standby that lags behind still answers what was there before a rotation. */
  @Test
  void aCopyIsComparedWithWhatTheActiveNodeHas() throws Exception {
    KeyStore kms = own();
    kms.storeIfAbsent(owner(), PASSPHRASE).close();
    RbdPool noPool = new RbdPool(null);
    List<VolumeKey> sources =
        List.of(
            new ImageKey(noPool, "an-image", kms, owner()),
            new FileKey(noPool, "an-image", new FileSecret(kms, owner())));
    for (VolumeKey source : sources) {
      source.requireUnchanged(origin());
      assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    }
    vault.lagging(true);
    vault.put("secret/" + VOLUME, "{\"data\":{\"passphrase\":\"rotated\"}}");
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    for (VolumeKey source : sources) {
      assertAborted(() -> source.requireUnchanged(origin()));
    }
    assertThat(vault.newest("secret/" + VOLUME)).contains("rotated");
  }

  private static KeyOrigin origin() {
    Passphrase passphrase = Checks.passphrase("test", DEK);
    return new KeyOrigin(Optional.of(passphrase), EncryptionState.ENCRYPTED, "");
  }

  @Test
  void whoeverConfirmsTheSameMeanwhileIsNoReasonToFail() throws Exception {
    KeyStore kms = own();
    kms.storeIfAbsent(owner(), PASSPHRASE).close();
    vault.beforeWrite(() -> vault.put("secret/" + VOLUME, vault.newest("secret/" + VOLUME)));
    kms.confirm(owner(), PASSPHRASE);
    assertThat(vault.newest("secret/" + VOLUME)).contains(DEK);
  }

  /** A rotation would remove no passphrase from the volume otherwise. */
  @Test
  void whatWasReplacedByCheckAndSetIsNotReadBack() throws Exception {
    KeyStore kms = own();
    kms.storeIfAbsent(owner(), PASSPHRASE).close();
    vault.lagging(true);
    kms.replace(owner(), PASSPHRASE, Checks.passphrase("test", "next"));
    assertThat(vault.newest("secret/" + VOLUME)).contains("next");
  }

  /** 60,000 small lists of an answer of 200 KB would take 8 MB. */
  @Test
  void anAnswerOfManySmallPartsIsNotRead() throws Exception {
    vault.put(
        "secret/" + VOLUME,
        "{\"data\":{\"passphrase\":\"x\",\"more\":[" + "[0],".repeat(20_000) + "0]}}");
    assertRefused(Reason.UNAVAILABLE, "at most 50000 parts");
  }

  @Test
  void ofManyCallsAtTheSameTimeOneStores() throws Exception {
    KeyStore kms = own();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    Set<String> stored = ConcurrentHashMap.newKeySet();
    try {
      KeyOwner owner = owner();
      List<Callable<Boolean>> calls =
          IntStream.range(0, 8)
              .mapToObj(
                  i ->
                      (Callable<Boolean>)
                          () -> stored.add(kms.storeIfAbsent(owner, Passphrase.random()).text()))
              .toList();
      for (var call : threads.invokeAll(calls)) {
        assertThat(call.get()).isNotNull();
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(stored).hasSize(1);
    assertThat(vault.logins()).isEqualTo(1);
    assertThat(stored).contains(kms.find(owner()).orElseThrow().text());
  }

  @Test
  void whatAnotherStoresMeanwhileIsTheAnswer() throws Exception {
    String theirs = "{\"data\":{\"passphrase\":\"theirs\"}}";
    vault.beforeWrite(() -> vault.put("secret/" + VOLUME, theirs));
    KeyStore kms = own();
    assertThat(kms.storeIfAbsent(owner(), PASSPHRASE).text()).isEqualTo("theirs");
    vault.beforeWrite(() -> vault.put("secret/" + VOLUME, theirs.replace("theirs", "newest")));
    Passphrase present = kms.find(owner()).orElseThrow();
    assertAborted(() -> kms.replace(owner(), present, PASSPHRASE));
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo("newest");
    assertAborted(() -> kms.replace(owner(), present, PASSPHRASE));
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo("newest");
    for (int i = 0; i < 2; i++) {
      kms.replace(owner(), Checks.passphrase("test", i == 0 ? "newest" : "any"), PASSPHRASE);
      assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
    }
  }

  private static void assertAborted(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
  }

  @Test
  void aSoftDeletionLeavesItsVersion() throws Exception {
    KeyStore kms = own("vaultDestroyKeys", "false");
    assertThatThrownBy(() -> kms.replace(owner(), PASSPHRASE, Passphrase.random()))
        .hasMessageContaining("no passphrase");
    kms.storeIfAbsent(owner(), Passphrase.random());
    kms.remove(owner());
    assertThat(lastOf("DELETE").path()).isEqualTo("/v1/secret/data/" + VOLUME);
    assertThat(kms.find(owner())).isEmpty();
    assertThat(vault.paths()).hasSize(1);
    assertThat(kms.storeIfAbsent(owner(), PASSPHRASE).text()).isEqualTo(DEK);
    assertThat(lastOf("PUT").body()).contains("\"cas\":1");
    assertThat(kms.find(owner()).orElseThrow().text()).isEqualTo(DEK);
  }

  @Test
  void aMissingSecretIsOneThatVaultItselfSaysIsMissing() throws Exception {
    String deleted = "{\"data\":{\"data\":null,\"metadata\":{\"version\":3}}}";
    for (String backend : List.of("kv", "kv-v2")) {
      KeyStore kms = own("vaultBackend", backend);
      for (String body :
          List.of("", "<html>not found</html>", "{}", "[]", "{\"data\":null}", "{\"errors\":0}")) {
        assertNotOfVault(body, () -> kms.find(owner()));
        assertNotOfVault(body, () -> kms.storeIfAbsent(owner(), PASSPHRASE));
        assertNotOfVault(body, () -> kms.remove(owner()));
      }
      assertThat(vault.server().count("PUT", "")).isZero();
      vault.notFound("{\"errors\":[]}");
      assertThat(kms.find(owner())).isEmpty();
      vault.notFound("{\"errors\":[]}");
      kms.remove(owner());
    }
    assertNotOfVault(deleted, () -> own("vaultBackend", "kv").find(owner()));
    vault.notFound(deleted);
    assertThat(own("vaultBackend", "kv-v2").find(owner())).isEmpty();
  }

  private void assertNotOfVault(String body, ThrowingCallable call) {
    vault.notFound(body);
    assertThatThrownBy(call)
        .as(body)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
        .hasMessageContaining("404 is not Vault's");
  }

  @Test
  void whatIsNoPassphraseIsNotOverwritten() throws Exception {
    for (String other : new String[] {"{}", "{\"data\":{}}", "{\"data\":{\"passphrase\":\"\"}}"}) {
      vault.put("secret/" + VOLUME, other);
      assertRefused(Reason.FAILED_PRECONDITION, "left as it is");
      assertThatThrownBy(() -> own().storeIfAbsent(owner(), PASSPHRASE))
          .hasMessageContaining("left as it is");
      assertThat(vault.newest("secret/" + VOLUME)).isEqualTo(other);
    }
    vault.put("secret/" + VOLUME, "{\"data\":{\"passphrase\":\"" + "x".repeat(9000) + "\"}}");
    assertRefused(Reason.FAILED_PRECONDITION, "8192");
  }

  private void assertRefused(Reason reason, String text, String... fields) throws Exception {
    KeyStore kms = own(fields);
    KeyOwner owner = owner();
    assertThatThrownBy(() -> kms.find(owner))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(text)
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain(TestKubernetes.TOKEN, "secret-"));
  }

  @Test
  void aTokenThatIsRefusedIsAskedForAgainOnce() throws Exception {
    KeyStore kms = own();
    kms.storeIfAbsent(owner(), PASSPHRASE);
    vault.revokeAll();
    assertThat(kms.find(owner())).isPresent();
    assertThat(vault.logins()).isEqualTo(2);
    vault.lease(1);
    vault.revokeAll();
    assertThat(kms.find(owner())).isPresent();
    Thread.sleep(1000); // the lease
    assertThat(kms.find(owner())).isPresent();
    assertThat(vault.logins()).isEqualTo(4);
  }

  @Test
  void callsThatWaitForASilentLoginHoldUpNoOthers() throws Exception {
    silent(vault::beforeLogin, this::assertHoldingUpNoOthers);
    assertThat(vault.logins()).isEqualTo(1);
  }

  /** A Vault that takes a login, and is silent then, keeps as many calls. */
  @Test
  void callsThatWaitForASilentAnswerHoldUpNoOthers() throws Exception {
    silent(vault::beforeRead, this::assertHoldingUpNoOthers);
  }

  private static void silent(Consumer<Runnable> vault, SilentCase test) throws Exception {
    CountDownLatch silence = new CountDownLatch(1);
    vault.accept(() -> await(silence));
    try {
      test.run(silence);
    } finally {
      silence.countDown();
    }
  }

  /** What is tested while Vault is silent, and then lets it answer. */
  private interface SilentCase {
    void run(CountDownLatch silence) throws Exception;
  }

  private void assertHoldingUpNoOthers(CountDownLatch silence) throws Exception {
    KeyStore kms = own();
    try (ClusterExecutors executors =
        new ClusterExecutors(new ClusterDirectory(folder.resolve("clusters.json")), 2, 1)) {
      Executor threads = executors.calls(Storage.RBD, "a");
      try {
        List<CompletableFuture<Boolean>> calls = finds(10, kms, owner(), threads);
        CompletableFuture.runAsync(() -> {}, threads).join();
        assertThat(calls).noneMatch(CompletableFuture::isDone);
        silence.countDown();
        assertThat(calls).allMatch(CompletableFuture::join);
      } finally {
        silence.countDown();
      }
    }
  }

  @Test
  void onlySomeCallsWaitForASilentLogin() throws Exception {
    silent(vault::beforeLogin, this::assertThatOnlySomeWait);
    assertThat(vault.logins()).isEqualTo(1);
  }

  @Test
  void onlySomeCallsWaitForASilentAnswer() throws Exception {
    silent(vault::beforeRead, this::assertThatOnlySomeWait);
  }

  private void assertThatOnlySomeWait(CountDownLatch silence) throws Exception {
    KeyStore kms = own();
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      List<CompletableFuture<Boolean>> calls = finds(18, kms, owner(), threads);
      Awaitility.await()
          .until(() -> calls.stream().filter(CompletableFuture::isDone).count(), Matchers.is(2L));
      for (CompletableFuture<Boolean> one : calls) {
        if (one.isDone()) {
          assertThatThrownBy(one::join)
              .hasCauseInstanceOf(VolumeException.class)
              .hasMessageContaining("16 calls wait for it already");
        }
      }
      silence.countDown();
      Awaitility.await().until(() -> calls.stream().allMatch(CompletableFuture::isDone));
      assertThat(calls.stream().filter(CompletableFuture::isCompletedExceptionally)).hasSize(2);
    } finally {
      threads.shutdownNow();
    }
  }

  /** As when a node that was restarted stages its volumes. */
  @Test
  void aCallMoreIsServedAsSoonAsVaultAnswersAnother() throws Exception {
    silent(
        vault::beforeRead,
        silence -> {
          KeyStore kms = own();
          ExecutorService threads = Executors.newCachedThreadPool();
          try {
            List<CompletableFuture<Boolean>> calls = finds(16, kms, owner(), threads);
            Awaitility.await()
                .until(
                    () -> vault.server().count("GET", "/v1/secret/data/"),
                    Matchers.greaterThanOrEqualTo(16L));
            CompletableFuture<Boolean> more = finds(1, kms, owner(), threads).get(0);
            Thread.sleep(100); // it waits
            assertThat(more).isNotDone();
            silence.countDown();
            assertThat(more.join()).isTrue();
            assertThat(calls).allMatch(CompletableFuture::join);
          } finally {
            threads.shutdownNow();
          }
        });
  }

  private static List<CompletableFuture<Boolean>> finds(
      int count, KeyStore kms, KeyOwner owner, Executor threads) {
    return IntStream.range(0, count)
        .mapToObj(i -> CompletableFuture.supplyAsync(() -> kms.find(owner).isEmpty(), threads))
        .toList();
  }

  private static void await(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void errorsSayWhoRefusesWhat() throws Exception {
    assertRefused(Reason.UNAUTHENTICATED, "role \"none\"", "vaultRole", "none");
    assertRefused(Reason.UNAUTHENTICATED, "invalid role name", "vaultAuthPath", "/v1/auth/x/login");
    vault.role("kubernetes", "csi-kubernetes", "another");
    assertRefused(Reason.UNAUTHENTICATED, "permission denied ***"); // what it sent back
    vault.role("kubernetes", "csi-kubernetes", TestKubernetes.TOKEN);
    assertRefused(
        Reason.FAILED_PRECONDITION, "no secrets engine is mounted", "vaultBackendPath", "no/such");
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "no handler for route",
        "vaultBackendPath",
        "no/such",
        "vaultBackend",
        "kv-v2");
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "segment . or ..",
        "vaultBackendPath",
        "a/../sys",
        "vaultBackend",
        "kv-v2");
    vault.fail(9, 503);
    assertRefused(Reason.UNAVAILABLE, "status 503: Vault is sealed");
    vault.fail(2, 429);
    assertThat(own().find(owner())).isEmpty();
    vault.fail(1, 307);
    assertRefused(Reason.FAILED_PRECONDITION, "another address");
  }

  @Test
  void fieldsThatAreWrongAreNamed() {
    assertWrong("vaultAddress", "https://user:secret-password@vault", "vaultAddress must be");
    assertWrong("vaultAddress", "ftp://vault", "vaultAddress must be");
    assertWrong("vaultAddress", "", "vaultAddress is missing");
    assertWrong("vaultBackend", "kv-v3", "vaultBackend must be kv, kv-v1 or kv-v2");
    assertWrong("vaultDestroyKeys", "perhaps", "vaultDestroyKeys must be true or false");
    assertWrong("vaultCAVerify", "perhaps", "vaultCAVerify must be true or false");
    for (String host : List.of("vault_1.example.com", "vault.example.com.")) {
      assertWrong("vaultTLSServerName", host, "vaultTLSServerName must be a DNS name");
    }
  }

  private void assertWrong(String field, String value, String message) {
    assertThatThrownBy(() -> own(field, value))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(message)
        .hasMessageContaining("KMS vault-1 in")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-password"));
  }

  @Test
  void theServerIsVerifiedByTheCertificateOfTheRequest() throws Exception {
    KeyStore kms = own();
    KeyOwner without = new KeyOwner(VOLUME, Optional.empty(), Map.of());
    assertThatThrownBy(() -> kms.find(without)).hasMessageContaining("the secrets have no vaultCa");
    KeyOwner bad = new KeyOwner(VOLUME, Optional.empty(), Map.of("vaultCa", "secret-no-pem"));
    assertThatThrownBy(() -> kms.find(bad))
        .hasMessageContaining("the secrets' vaultCa")
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-no-pem"));
    assertThat(kms.find(owner())).isEmpty();
    String other = TestKeys.make(keysFolder, "EC", "ip:127.0.0.1").certificate();
    KeyOwner wrong = new KeyOwner(VOLUME, Optional.empty(), Map.of("vaultCa", other));
    int logins = vault.logins();
    assertThatThrownBy(() -> kms.find(wrong)).hasMessageContaining("SSL");
    assertThat(vault.logins()).isEqualTo(logins);
    assertThat(own("vaultCAVerify", "false").find(owner())).isEmpty();
  }

  @Test
  void unknownFieldsAreNamedInTheLog() throws Exception {
    try (Logged log = Logged.by(KmsTypes.class)) {
      own("vaultAdress", "https://secret-value");
      assertThat(log.lines()).hasSize(1);
      assertThat(log.lines().get(0)).contains("vaultAdress").doesNotContain("secret-value");
    }
  }
}
