package io.cephcsi.driver.kms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class KmipKmsTest {
  private static final KeyOwner OWNER = new KeyOwner("volume-1", Optional.of("shop"), Map.of());
  private static final Passphrase PASSPHRASE = Passphrase.random();
  private static final byte[] KEY = new byte[32];

  @TempDir private static Path keysFolder;
  private static TestKeys keys;
  @TempDir private Path folder;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private SSLServerSocket socket;
  private TestKubernetes kubernetes;
  private volatile Behaviour behaviour = KmipKmsTest::served;

  /** What a server answers to a message; null: it takes the connection over. */
  private interface Behaviour {
    byte[] answer(Ttlv request, Socket connection) throws Exception;
  }

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(keysFolder, "RSA", "ip:127.0.0.1");
  }

  @BeforeEach
  void start() throws Exception {
    kubernetes = TestKubernetes.start(keys, folder);
    secret("key-1");
    socket =
        (SSLServerSocket)
            keys.context()
                .getServerSocketFactory()
                .createServerSocket(0, 10, InetAddress.getLoopbackAddress());
    socket.setNeedClientAuth(true);
    threads.execute(this::accept);
  }

  private void secret(String key) throws Exception {
    kubernetes.secret(
        "ceph",
        "ceph-csi-kmip-credentials",
        Map.of(
            "CA_CERT", keys.certificate(),
            "CLIENT_CERT", keys.certificate(),
            "CLIENT_KEY", keys.key(),
            "UNIQUE_IDENTIFIER", key));
  }

  @AfterEach
  void stop() throws IOException {
    socket.close();
    threads.shutdownNow();
    kubernetes.close();
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        Socket connection = socket.accept();
        threads.execute(() -> serve(connection));
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  private void serve(Socket connection) {
    try (connection) {
      for (int i = 0; i < 2; i++) {
        byte[] head = connection.getInputStream().readNBytes(8);
        int length = ByteBuffer.wrap(head).getInt(4);
        byte[] body = connection.getInputStream().readNBytes(length);
        Ttlv request = Ttlv.decoded(ByteBuffer.allocate(8 + length).put(head).put(body).array());
        connection.getOutputStream().write(behaviour.answer(request, connection));
        connection.getOutputStream().flush();
      }
    } catch (Exception e) {
      threads.isShutdown(); // the client sees that the connection ends
    }
  }

  private static byte[] served(Ttlv request, Socket connection) throws GeneralSecurityException {
    Ttlv item = request.find(KmipMessages.BATCH_ITEM).orElseThrow();
    int operation = item.find(KmipMessages.OPERATION).orElseThrow().number();
    Ttlv payload = item.find(KmipMessages.REQUEST_PAYLOAD).orElseThrow();
    if (operation == KmipMessages.DISCOVER_VERSIONS) {
      return good(operation, KmipMessages.version());
    }
    if (!payload.find(KmipMessages.KEY).orElseThrow().text().equals("key-1")) {
      return failed(operation, "no such key");
    }
    byte[] data = payload.find(KmipMessages.DATA).orElseThrow().value();
    byte[] nonce = payload.find(KmipMessages.NONCE).orElseThrow().value();
    Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
    int mode = operation == KmipMessages.ENCRYPT ? Cipher.ENCRYPT_MODE : Cipher.DECRYPT_MODE;
    cipher.init(mode, new SecretKeySpec(KEY, "AES"), new IvParameterSpec(nonce));
    try {
      return good(operation, Ttlv.bytes(KmipMessages.DATA, cipher.doFinal(data)));
    } catch (GeneralSecurityException e) {
      return failed(operation, "bad data");
    }
  }

  private static byte[] good(int operation, Ttlv payload) {
    return message(operation, 0, Ttlv.structure(KmipMessages.RESPONSE_PAYLOAD, payload));
  }

  private static byte[] failed(int operation, String text) {
    return message(operation, 1, Ttlv.text(KmipMessages.MESSAGE, text));
  }

  private static byte[] message(int operation, int status, Ttlv last) {
    return Ttlv.structure(
            KmipMessages.RESPONSE,
            Ttlv.structure(KmipMessages.RESPONSE_HEADER, KmipMessages.version()),
            Ttlv.structure(
                KmipMessages.BATCH_ITEM,
                Ttlv.enumeration(KmipMessages.OPERATION, operation),
                Ttlv.enumeration(KmipMessages.STATUS, status),
                last))
        .encoded();
  }

  private KmipKms kms(Map<String, ?> more) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("KMIP_ENDPOINT", "127.0.0.1:" + socket.getLocalPort());
    fields.putAll(more);
    return new KmipKms(
        "k",
        Section.of("KMS k", Json.mapper().valueToTree(fields)),
        new KubernetesObjects(Optional.of(kubernetes.api())));
  }

  @Test
  void messagesHaveTheBytesOfTheStandard() throws IOException {
    String expected =
        "4200780100000088"
            + "4200770100000038"
            + "4200690100000020"
            + "42006a02000000040000000100000000"
            + "42006b02000000040000000400000000"
            + "42000d02000000040000000100000000"
            + "42000f0100000040"
            + "42005c05000000040000001e00000000"
            + "4200790100000028"
            + "4200690100000020"
            + "42006a02000000040000000100000000"
            + "42006b02000000040000000400000000";
    byte[] message = KmipMessages.discoverVersions();
    assertThat(HexFormat.of().formatHex(message)).isEqualTo(expected);
    assertThat(Ttlv.decoded(message).encoded()).isEqualTo(message);
  }

  @Test
  void aPassphraseIsWrappedByTheServer() {
    KmipKms kms = kms(Map.of("READ_TIMEOUT", 5, "TLS_MIN_VERSION", "1.3"));
    String wrapped = kms.wrap(OWNER, PASSPHRASE);
    assertThat(wrapped).matches("\\{\"dek\":\"[A-Za-z0-9+/=]{44}\",\"nonce\":\"[^\"]{24}\"}");
    assertThat(kms.unwrap(OWNER, wrapped).isSame(PASSPHRASE)).isTrue();
    assertThat(kms.wrap(OWNER, PASSPHRASE)).isNotEqualTo(wrapped);
    String damaged =
        "{\"dek\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"nonce\":\"AAAAAAAAAAAAAAAAAAAAAA==\"}";
    assertRefused(() -> kms.unwrap(OWNER, damaged), Reason.FAILED_PRECONDITION, ": bad data");
    assertRefused(() -> kms.unwrap(OWNER, "{}"), Reason.FAILED_PRECONDITION, "damaged");
  }

  @Test
  void whatTheServerSaysIsShownWithoutThePassphrase() throws Exception {
    secret("key-2");
    KmipKms kms = kms(Map.of());
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, ": no such key");
    behaviour = (request, connection) -> failed(1, PASSPHRASE.text());
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, "KMIP 1.4");
  }

  @Test
  void wrongLengthsAndSilenceEnd() {
    KmipKms kms = kms(Map.of("READ_TIMEOUT", 1, "WRITE_TIMEOUT", 1));
    String[] answers = {
      "42007b017fffffff",
      "42007b01ffffffff",
      "42007b0100000008" + "42000f0100000010",
      "42007b0100000008" + "42000f0200000000",
      "42007b0100000000",
      "48545450" + "2f312e31",
    };
    for (String answer : answers) {
      behaviour = (request, connection) -> HexFormat.of().parseHex(answer);
      assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.UNAVAILABLE, "answer");
    }
    long start = System.nanoTime();
    behaviour =
        (request, connection) -> {
          connection.getOutputStream().write(HexFormat.of().parseHex("42007b0100008000"));
          for (int i = 0; i < 300; i++) {
            connection.getOutputStream().write(0);
            connection.getOutputStream().flush();
            Thread.sleep(100);
          }
          return new byte[0];
        };
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.UNAVAILABLE, "in time");
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
  }

  @Test
  void theServerIsVerified() throws Exception {
    assertRefused(
        () -> kms(Map.of("TLS_SERVER_NAME", "other.example.com")).wrap(OWNER, PASSPHRASE),
        Reason.UNAVAILABLE,
        "SSL/TLS");
    assertRefused(() -> kms(Map.of("KMIP_ENDPOINT", "x")), Reason.INVALID_ARGUMENT, "HOST:PORT");
    assertRefused(
        () -> kms(Map.of("READ_TIMEOUT", 0)), Reason.INVALID_ARGUMENT, "READ_TIMEOUT must be");
    assertRefused(
        () -> kms(Map.of("USE_CRYPTO_RPC", "false")), Reason.INVALID_ARGUMENT, "USE_CRYPTO_RPC");
    assertRefused(
        () -> kms(Map.of("TLS_SERVER_NAME", "kmip.example.com.")),
        Reason.INVALID_ARGUMENT,
        "TLS_SERVER_NAME must be a DNS name");
    assertRefused(
        () -> kms(Map.of("KMIP_ENDPOINT", "kmip_1:5696")),
        Reason.INVALID_ARGUMENT,
        "KMIP_ENDPOINT must be a DNS name");
    secret("key-1");
    kubernetes.secret("ceph", "ceph-csi-kmip-credentials", Map.of("more", "secret-more"));
    assertRefused(
        () -> kms(Map.of()).wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, "the key more");
  }

  private static void assertRefused(Runnable call, Reason reason, String text) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(text)
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-", PASSPHRASE.text()));
  }
}
