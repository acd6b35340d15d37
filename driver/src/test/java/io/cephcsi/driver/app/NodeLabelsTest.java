package io.cephcsi.driver.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a server with a certificate, as the API of Kubernetes is one. */
class NodeLabelsTest {
  private static final String PASSWORD = "test-password";
  private static final String NODE =
      """
      {"kind": "Node", "spec": {"labels": {"no": "such"}}, "metadata": {"name": "node-1",
       "managedFields": [{"labels": 1}], "labels": {"topology.kubernetes.io/zone": "east",
       "topology.kubernetes.io/region": "north"}}}
      """;

  private static HttpsServer server;
  private static String address;

  @TempDir private static Path keys;
  @TempDir private Path account;

  @BeforeAll
  static void serve() throws Exception {
    KeyStore store = newKey(keys.resolve("server.p12"));
    KeyManagerFactory managers =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(store, PASSWORD.toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    Files.writeString(keys.resolve("ca.crt"), pem(store));
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context));
    server.createContext("/", NodeLabelsTest::answer);
    server.start();
    address = "https://127.0.0.1:" + server.getAddress().getPort();
  }

  @AfterAll
  static void stop() {
    server.stop(0);
  }

  private static KeyStore newKey(Path file) throws Exception {
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-alias",
                "server",
                "-dname",
                "CN=api",
                "-ext",
                "SAN=ip:127.0.0.1",
                "-ext",
                "BC=ca:true",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    String output = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream stream = Files.newInputStream(file)) {
      store.load(stream, PASSWORD.toCharArray());
    }
    return store;
  }

  private static String pem(KeyStore store) throws Exception {
    return "-----BEGIN CERTIFICATE-----\n"
        + Base64.getMimeEncoder().encodeToString(store.getCertificate("server").getEncoded())
        + "\n-----END CERTIFICATE-----\n";
  }

  private static void answer(HttpExchange exchange) throws IOException {
    boolean may =
        "Bearer secret-token".equals(exchange.getRequestHeaders().getFirst("Authorization"));
    String path = exchange.getRequestURI().getPath();
    int status = !may ? 401 : path.equals("/api/v1/nodes/node-1") ? 200 : 404;
    byte[] body = (status == 200 ? NODE : "{}").getBytes(UTF_8);
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @BeforeEach
  void account() throws IOException {
    Files.copy(keys.resolve("ca.crt"), account.resolve("ca.crt"));
    Files.writeString(account.resolve("token"), "secret-token\n");
  }

  @Test
  void theLabelsOfTheNodeAreReadAndNamedAsInCephCsi() {
    Map<String, String> labels = labels().of("node-1").join();
    assertThat(labels)
        .containsOnly(
            Map.entry("topology.kubernetes.io/zone", "east"),
            Map.entry("topology.kubernetes.io/region", "north"));
    NodeSettings settings =
        new NodeSettings(
            Optional.empty(), 0, Map.of("rack", "7"), List.of("topology.kubernetes.io/zone"), 0);
    assertThat(NodeTopology.segments("rbd.csi.ceph.com", settings, labels))
        .isEqualTo(Map.of("topology.rbd.csi.ceph.com/zone", "east", "rack", "7"));
  }

  @Test
  void aLabelThatTheNodeHasNotIsNamed() {
    NodeSettings settings =
        new NodeSettings(Optional.empty(), 0, Map.of(), List.of("example.com/rack"), 0);
    assertThatThrownBy(() -> NodeTopology.segments("rbd.csi.ceph.com", settings, Map.of()))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("example.com/rack");
  }

  @Test
  void readAffinityTakesLabelsOfTheNodeObjectWhereTheTopologyLacksThem() throws IOException {
    Map<String, String> topology = Map.of("topology.kubernetes.io/zone", "west", "rack", "7");
    List<String> zone = List.of("topology.kubernetes.io/zone");
    List<String> more = List.of("topology.kubernetes.io/region", "rack");
    Optional<NodeLabels> api = Optional.of(labels());
    AffinityLabels labels = new AffinityLabels("node-1", topology, api);
    Files.writeString(account.resolve("token"), "of-nobody");
    assertThat(labels.apply(zone)).isEqualTo(topology);
    try (Logged log = Logged.by(AffinityLabels.class)) {
      assertThat(labels.apply(more)).isEqualTo(topology);
      assertThat(log.lines()).hasSize(1).first().asString().contains("WARN", "status 401");
    }
    Files.writeString(account.resolve("token"), "secret-token");
    assertThat(labels.apply(more))
        .containsEntry("topology.kubernetes.io/region", "north")
        .containsEntry("topology.kubernetes.io/zone", "west");
    Files.delete(account.resolve("token")); // it is known now
    assertThat(labels.apply(more)).containsKey("topology.kubernetes.io/region");
    assertThat(new AffinityLabels("node-1", topology, Optional.empty()).apply(more))
        .isEqualTo(topology);
  }

  @Test
  void aWrongOrRefusingApiServerIsUnavailable() throws Exception {
    assertUnavailable(labels(), "another").contains("status 404");
    Files.writeString(account.resolve("token"), "of-nobody");
    assertUnavailable(labels(), "node-1").contains("status 401");
    Files.writeString(account.resolve("token"), "secret-\u0000-token");
    assertUnavailable(labels(), "node-1").doesNotContain("secret");
    Files.writeString(account.resolve("token"), "secret-token");
    Files.writeString(account.resolve("ca.crt"), pem(newKey(keys.resolve("other.p12"))));
    assertUnavailable(labels(), "node-1").contains("SSL");
    Files.delete(account.resolve("token"));
    assertUnavailable(labels(), "node-1").contains("token");
  }

  private NodeLabels labels() {
    return new NodeLabels(new KubernetesApi(account, address, ""));
  }

  private static org.assertj.core.api.AbstractStringAssert<?> assertUnavailable(
      NodeLabels labels, String node) {
    try {
      return assertThat("" + labels.of(node).join());
    } catch (CompletionException e) {
      assertThat(e.getCause()).isInstanceOf(VolumeException.class);
      VolumeException cause = (VolumeException) e.getCause();
      assertThat(cause.reason()).isEqualTo(Reason.UNAVAILABLE);
      return assertThat(cause.getMessage());
    }
  }
}
