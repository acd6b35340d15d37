package io.cephcsi.driver.app;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * The labels of a Node object, read from the API of Kubernetes with the service account of the pod.
 * It needs the right to get nodes. Safe for several threads.
 */
final class NodeLabels {
  private static final Path ACCOUNT = Path.of("/var/run/secrets/kubernetes.io/serviceaccount");
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int LARGEST = 4 << 20; // etcd takes 1.5 MiB

  private final Path account;
  private final String api;

  /**
   * @param account the folder with the files {@code ca.crt} and {@code token}
   * @param api the address of the API, such as {@code https://10.0.0.1:443}
   */
  NodeLabels(Path account, String api) {
    this.account = account;
    this.api = api;
  }

  /**
   * Of the cluster that this process is a pod of.
   *
   * @throws ConfigException when it is in no pod
   */
  static NodeLabels ofPod(Map<String, String> environment) {
    return ifInPod(environment)
        .orElseThrow(
            () ->
                new ConfigException(
                    "domainlabels are read from the API of Kubernetes, and this process is in no"
                        + " pod (KUBERNETES_SERVICE_HOST is not set): give the topology with"
                        + " values instead"));
  }

  /** As {@link #ofPod}; empty when this process is in no pod. */
  static Optional<NodeLabels> ifInPod(Map<String, String> environment) {
    String host = environment.getOrDefault("KUBERNETES_SERVICE_HOST", "");
    String port = environment.getOrDefault("KUBERNETES_SERVICE_PORT", "443");
    String address = host.contains(":") ? "[" + host + "]" : host;
    return host.isEmpty()
        ? Optional.empty()
        : Optional.of(new NodeLabels(ACCOUNT, "https://" + address + ":" + port));
  }

  /**
   * Asks for the labels of a node. Does not block beyond reading two small files.
   *
   * @return fails with a {@link VolumeException}, UNAVAILABLE, when the API does not say them
   */
  CompletableFuture<Map<String, String>> of(String node) {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(
                  URI.create(api + "/api/v1/nodes/" + URLEncoder.encode(node, UTF_8)))
              .timeout(TIMEOUT)
              .header("Accept", "application/json")
              .header(
                  "Authorization", "Bearer " + Files.readString(account.resolve("token")).strip())
              .build();
      HttpClient client =
          HttpClient.newBuilder().connectTimeout(TIMEOUT).sslContext(trust()).build();
      return client
          .sendAsync(request, BodyHandlers.ofInputStream())
          .handle(
              (response, failure) -> {
                if (failure != null) {
                  throw unavailable(node, failure);
                }
                return labels(node, response);
              });
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      // The message of an exception about a header has the token in it.
      String reason = e instanceof IllegalArgumentException ? "the token is malformed" : "" + e;
      return CompletableFuture.failedFuture(
          new VolumeException(Reason.UNAVAILABLE, message(node) + reason));
    }
  }

  private SSLContext trust() throws IOException, GeneralSecurityException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream file = Files.newInputStream(account.resolve("ca.crt"))) {
      int number = 0;
      for (Certificate ca : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
        trusted.setCertificateEntry("ca-" + number++, ca);
      }
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  private static Map<String, String> labels(String node, HttpResponse<InputStream> response) {
    try (InputStream body = response.body()) {
      byte[] bytes = body.readNBytes(LARGEST);
      if (response.statusCode() != 200) {
        throw new IOException("the Kubernetes API answers with status " + response.statusCode());
      }
      return labels(bytes);
    } catch (IOException e) {
      throw unavailable(node, e);
    }
  }

  private static Map<String, String> labels(byte[] node) throws IOException {
    if (!(Json.tree(node) instanceof Map<?, ?> object)
        || !(object.get("metadata") instanceof Map<?, ?> metadata)) {
      throw new IOException("the answer of the Kubernetes API is no object with metadata");
    }
    Map<String, String> labels = new LinkedHashMap<>();
    if (metadata.get("labels") instanceof Map<?, ?> found) {
      found.forEach((label, value) -> labels.put(String.valueOf(label), String.valueOf(value)));
    }
    return labels;
  }

  private static VolumeException unavailable(String node, Throwable failure) {
    return new VolumeException(Reason.UNAVAILABLE, message(node) + failure, failure);
  }

  private static String message(String node) {
    return "the labels of node " + node + " are not known: ";
  }
}
