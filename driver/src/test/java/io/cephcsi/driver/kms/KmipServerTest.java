package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The KMIP provider against a server and a client that others wrote: PyKMIP of Debian. */
@Timeout(120)
class KmipServerTest {
  private static final String PYTHON = "/usr/bin/python3"; // for which Debian installs packages
  private static final String PASSPHRASE = "AAECAwQFBgcICQoLDA0ODxAREhM=";
  private static final KeyOwner OWNER = new KeyOwner("volume-1", Optional.of("shop"), Map.of());

  @TempDir private static Path folder;
  private static TestKeys keys;
  private static TestKubernetes kubernetes;
  private static Process server;
  private static int port;
  private static String key;

  /** What PyKMIP's client had the server encrypt. */
  private static String sealed;

  @BeforeAll
  static void start() throws Exception {
    Process there = new ProcessBuilder(PYTHON, "-W", "ignore", "-c", "import kmip").start();
    assumeTrue(there.waitFor() == 0, "python3-pykmip is not installed");
    keys = TestKeys.make(folder, "RSA", "ip:127.0.0.1");
    Files.writeString(folder.resolve("certificate.pem"), keys.certificate());
    Files.writeString(folder.resolve("key.pem"), keys.key());
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Path script = folder.resolve("kmip-server.py");
    try (InputStream text = KmipServerTest.class.getResourceAsStream("/kmip-server.py")) {
      Files.copy(text, script);
    }
    server =
        new ProcessBuilder(
                List.of(
                    PYTHON,
                    "-W",
                    "ignore",
                    script.toString(),
                    folder.toString(),
                    Integer.toString(port),
                    PASSPHRASE))
            .redirectError(folder.resolve("errors").toFile())
            .start();
    BufferedReader output =
        new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8));
    String line = output.readLine();
    if (line == null) {
      throw new IOException(Files.readString(folder.resolve("errors")));
    }
    key = line.substring(0, line.indexOf(' '));
    sealed = line.substring(line.indexOf(' ') + 1);
    kubernetes = TestKubernetes.start(keys, folder);
  }

  @AfterAll
  static void stop() throws Exception {
    if (server != null) {
      server.getOutputStream().close();
      server.waitFor();
    }
    if (kubernetes != null) {
      kubernetes.close();
    }
  }

  private static KmipKms kms(String keyId) throws Exception {
    kubernetes.secret(
        "ceph",
        "ceph-csi-kmip-credentials",
        Map.of(
            "CA_CERT", keys.certificate(),
            "CLIENT_CERT", keys.certificate(),
            "CLIENT_KEY", keys.key(),
            "UNIQUE_IDENTIFIER", keyId));
    return new KmipKms(
        "k",
        Section.of(
            "KMS k", Json.mapper().valueToTree(Map.of("KMIP_ENDPOINT", "127.0.0.1:" + port))),
        new KubernetesObjects(Optional.of(kubernetes.api())));
  }

  @Test
  void aPassphraseIsWrappedAndUnwrapped() throws Exception {
    KmipKms kms = kms(key);
    Passphrase passphrase = Passphrase.random();
    String wrapped = kms.wrap(OWNER, passphrase);
    assertThat(wrapped).doesNotContain(passphrase.text());
    assertThat(kms.unwrap(OWNER, wrapped).isSame(passphrase)).isTrue();
    assertThat(kms.wrap(OWNER, passphrase)).isNotEqualTo(wrapped);
  }

  @Test
  void whatAnotherClientWrappedIsUnwrapped() throws Exception {
    assertThat(kms(key).unwrap(OWNER, sealed).text()).isEqualTo(PASSPHRASE);
  }

  @Test
  void whatTheServerRefusesIsSaid() throws Exception {
    assertRefused(kms("no-such-key"), sealed, "refuses to unwrap the passphrase of volume-1: ");
    String cut = sealed.replaceFirst("\"dek\":\"[^\"]{40}", "\"dek\":\"");
    assertRefused(kms(key), cut, "refuses to unwrap");
  }

  private static void assertRefused(KmipKms kms, String wrapped, String text) {
    assertThatThrownBy(() -> kms.unwrap(OWNER, wrapped))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining(text)
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain(PASSPHRASE));
  }
}
