package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer;
import io.cephcsi.driver.http.TestServer.Asked;
import io.cephcsi.driver.http.TestServer.Reply;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What the API of Kubernetes answers about Secrets, ConfigMaps and tokens. */
final class TestKubernetes implements AutoCloseable {
  static final String TOKEN = "secret-token-of-the-pod";

  private final Map<String, Map<String, Object>> objects = new ConcurrentHashMap<>();
  private final Set<String> accounts = ConcurrentHashMap.newKeySet();
  private final Set<String> forbidden = ConcurrentHashMap.newKeySet();
  private final AtomicInteger tokens = new AtomicInteger();
  private final TestServer server;
  private final KubernetesApi api;

  private TestKubernetes(TestKeys keys, Path folder) throws Exception {
    server = TestServer.of(keys, this::answer);
    Path account = Files.createDirectories(folder.resolve("account"));
    Files.writeString(account.resolve("ca.crt"), keys.certificate());
    Files.writeString(account.resolve("token"), TOKEN + "\n");
    api = new KubernetesApi(account, server.address(), "ceph");
  }

  static TestKubernetes start(TestKeys keys, Path folder) throws Exception {
    return new TestKubernetes(keys, folder);
  }

  KubernetesApi api() {
    return api;
  }

  TestServer server() {
    return server;
  }

  void configMap(String namespace, String name, Map<String, String> data) {
    objects.put(
        "/api/v1/namespaces/" + namespace + "/configmaps/" + name, new LinkedHashMap<>(data));
  }

  void secret(String namespace, String name, Map<String, String> data) {
    Map<String, Object> encoded = new LinkedHashMap<>();
    data.forEach(
        (key, value) ->
            encoded.put(key, Base64.getEncoder().encodeToString(value.getBytes(UTF_8))));
    objects.put("/api/v1/namespaces/" + namespace + "/secrets/" + name, encoded);
  }

  /** Removes an object. */
  void forget(String namespace, String kind, String name) {
    objects.remove("/api/v1/namespaces/" + namespace + "/" + kind + "/" + name);
  }

  void account(String namespace, String name) {
    accounts.add("/api/v1/namespaces/" + namespace + "/serviceaccounts/" + name + "/token");
  }

  /** Refuses what ends so. */
  void forbid(String end) {
    forbidden.add(end);
  }

  private Reply answer(Asked asked) throws IOException {
    if (!asked.authorization().equals("Bearer " + TOKEN)) {
      return status(401);
    }
    if (forbidden.stream().anyMatch(asked.path()::endsWith)) {
      return status(403);
    }
    if (asked.method().equals("POST") && accounts.contains(asked.path())) {
      String account = asked.path().replaceAll(".*/namespaces/([^/]*)/[^/]*/([^/]*)/.*", "$1.$2");
      Map<?, ?> request = (Map<?, ?>) Json.tree(asked.body().getBytes(UTF_8));
      if (!"TokenRequest".equals(request.get("kind"))) {
        return status(400);
      }
      String token = "secret-token-" + account + "-" + tokens.incrementAndGet();
      return json(201, Map.of("kind", "TokenRequest", "status", Map.of("token", token)));
    }
    Map<String, Object> data = objects.get(asked.path());
    return asked.method().equals("GET") && data != null
        ? json(200, Map.of("metadata", Map.of(), "data", data))
        : status(404);
  }

  private static Reply status(int code) throws IOException {
    return json(code, Map.of("kind", "Status", "status", "Failure", "message", "secret-message"));
  }

  private static Reply json(int code, Map<String, Object> body) throws IOException {
    return new Reply(code, Json.mapper().writeValueAsString(body));
  }

  @Override
  public void close() {
    server.close();
  }
}
