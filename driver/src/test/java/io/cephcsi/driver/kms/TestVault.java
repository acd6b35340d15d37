package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer;
import io.cephcsi.driver.http.TestServer.Asked;
import io.cephcsi.driver.http.TestServer.Reply;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Vault's HTTP API as its documentation has it: login by Kubernetes, sys/mounts, and secrets
 * engines kv of version 1 at {@code old/} and of version 2 elsewhere, with check-and-set.
 */
final class TestVault implements AutoCloseable {
  private static final List<String> MOUNTS = List.of("secret", "tenant", "old");

  private final Map<String, List<Version>> secrets = new ConcurrentHashMap<>();
  private final Map<String, String> roles = new ConcurrentHashMap<>();
  private final Set<String> tokens = ConcurrentHashMap.newKeySet();
  private final AtomicInteger logins = new AtomicInteger();
  private final TestServer server;
  private volatile int lease = 3600;
  private final AtomicInteger failures = new AtomicInteger();
  private volatile int failure = 503;
  private final AtomicReference<@Nullable String> stranger = new AtomicReference<>();
  private volatile Runnable beforeWrite = () -> {};
  private volatile Runnable beforeLogin = () -> {};
  private volatile Runnable beforeRead = () -> {};
  private volatile boolean lagging;

  private record Version(String data, boolean deleted) {}

  private TestVault(TestKeys keys, boolean clientCertificate) throws Exception {
    server = TestServer.of(keys, clientCertificate, this::answer);
  }

  static TestVault start(TestKeys keys) throws Exception {
    return new TestVault(keys, false);
  }

  static TestVault forClientsWithCertificate(TestKeys keys) throws Exception {
    return new TestVault(keys, true);
  }

  TestServer server() {
    return server;
  }

  String address() {
    return server.address();
  }

  /** A role at a login's path takes service account tokens that begin so. */
  void role(String mount, String role, String account) {
    roles.put(mount + "/" + role, account);
  }

  void token(String token) {
    tokens.add(token);
  }

  void revokeAll() {
    tokens.clear();
  }

  void lease(int seconds) {
    lease = seconds;
  }

  /** The next answers are this failure. */
  void fail(int times, int status) {
    failure = status;
    failures.set(times);
  }

  /** The next call with a token is answered by 404 with this body. */
  void notFound(String body) {
    stranger.set(body);
  }

  /** Runs before a write is done. */
  void beforeWrite(Runnable action) {
    beforeWrite = action;
  }

  /** Runs before each login is answered. */
  void beforeLogin(Runnable action) {
    beforeLogin = action;
  }

  /** Runs before each read of a secret is answered. */
  void beforeRead(Runnable action) {
    beforeRead = action;
  }

  /** Whether reads of version 2 are answered by the version before the newest, if there is one. */
  void lagging(boolean on) {
    lagging = on;
  }

  int logins() {
    return logins.get();
  }

  Set<String> paths() {
    return secrets.keySet();
  }

  /** What the newest version has. */
  String newest(String path) {
    List<Version> versions = secrets.getOrDefault(path, List.of());
    return versions.isEmpty() || versions.get(versions.size() - 1).deleted()
        ? ""
        : versions.get(versions.size() - 1).data();
  }

  private Reply answer(Asked asked) throws IOException {
    if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      return errors(failure, "Vault is sealed");
    }
    String path = asked.path().substring("/v1/".length());
    if (path.startsWith("auth/") && path.endsWith("/login")) {
      return login(path, asked);
    }
    if (!tokens.contains(asked.token())) {
      return errors(403, "permission denied");
    }
    String other = stranger.getAndSet(null);
    if (other != null) {
      return new Reply(404, other);
    }
    String space = path.startsWith("team/") ? "team/" : "";
    path = path.substring(space.length());
    if (path.equals("sys/mounts")) {
      return mounts();
    }
    String mount = path.substring(0, Math.max(0, path.indexOf('/')));
    String rest = path.substring(mount.length() + 1);
    if (!MOUNTS.contains(mount)) {
      return errors(404, "no handler for route \"" + path + "\". route entry not found.");
    }
    if (asked.method().equals("GET")) {
      beforeRead.run();
    }
    synchronized (this) {
      return mount.equals("old") ? old(space + path, asked) : versioned(space + mount, rest, asked);
    }
  }

  private Reply login(String path, Asked asked) throws IOException {
    logins.incrementAndGet();
    beforeLogin.run();
    JsonNode body = Json.mapper().readTree(asked.body());
    String mount = path.substring("auth/".length(), path.length() - "/login".length());
    String account = roles.get(asked.space() + mount + "/" + body.path("role").asText());
    if (account == null) {
      return errors(400, "invalid role name \"" + body.path("role").asText() + "\"");
    }
    if (!body.path("jwt").asText().startsWith(account)) {
      return errors(403, "permission denied " + body.path("jwt").asText());
    }
    String token = "secret-vault-token-" + logins.get();
    tokens.add(token);
    return json(200, Map.of("auth", Map.of("client_token", token, "lease_duration", lease)));
  }

  private static Reply mounts() throws IOException {
    Map<String, Object> data = new LinkedHashMap<>();
    for (String mount : MOUNTS) {
      data.put(
          mount + "/",
          Map.of("type", "kv", "options", Map.of("version", mount.equals("old") ? "1" : "2")));
    }
    data.put("sys/", Map.of("type", "system"));
    return json(200, Map.of("request_id", "x", "data", data));
  }

  private Reply old(String path, Asked asked) throws IOException {
    return switch (asked.method()) {
      case "GET" ->
          newest(path).isEmpty()
              ? errors(404)
              : json(200, Map.of("data", Json.mapper().readTree(newest(path))));
      case "DELETE" -> {
        secrets.remove(path);
        yield new Reply(204, "");
      }
      default -> {
        secrets.put(path, List.of(new Version(asked.body(), false)));
        yield new Reply(204, "");
      }
    };
  }

  private Reply versioned(String mount, String rest, Asked asked) throws IOException {
    String kind = rest.substring(0, rest.indexOf('/'));
    String path = mount + rest.substring(kind.length());
    List<Version> versions = secrets.getOrDefault(path, List.of());
    if (kind.equals("metadata") && asked.method().equals("DELETE")) {
      secrets.remove(path);
      return new Reply(204, "");
    }
    if (!kind.equals("data")) {
      return errors(405, "unsupported operation");
    }
    return switch (asked.method()) {
      case "GET" ->
          read(
              lagging && versions.size() > 1 ? versions.subList(0, versions.size() - 1) : versions);
      case "DELETE" -> {
        if (!versions.isEmpty()) {
          replaceNewest(path, versions);
        }
        yield new Reply(204, "");
      }
      default -> write(path, asked);
    };
  }

  private void replaceNewest(String path, List<Version> versions) {
    List<Version> changed = new ArrayList<>(versions);
    changed.set(changed.size() - 1, new Version(changed.get(changed.size() - 1).data(), true));
    secrets.put(path, changed);
  }

  private static Reply read(List<Version> versions) throws IOException {
    if (versions.isEmpty()) {
      return errors(404);
    }
    Version newest = versions.get(versions.size() - 1);
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("data", newest.deleted() ? null : Json.mapper().readTree(newest.data()));
    data.put(
        "metadata",
        Map.of("version", versions.size(), "deletion_time", newest.deleted() ? "2026" : ""));
    return json(newest.deleted() ? 404 : 200, Map.of("data", data));
  }

  private Reply write(String path, Asked asked) throws IOException {
    Runnable before = beforeWrite;
    beforeWrite = () -> {};
    before.run();
    List<Version> versions = secrets.getOrDefault(path, List.of());
    JsonNode body = Json.mapper().readTree(asked.body());
    @Nullable JsonNode cas = body.path("options").get("cas");
    if (cas != null && cas.asInt() != versions.size()) {
      return errors(400, "check-and-set parameter did not match the current version");
    }
    List<Version> changed = new ArrayList<>(versions);
    changed.add(new Version(body.get("data").toString(), false));
    secrets.put(path, changed);
    return json(200, Map.of("data", Map.of("version", changed.size())));
  }

  /** Writes as another client does. */
  void put(String path, String data) {
    List<Version> changed = new ArrayList<>(secrets.getOrDefault(path, List.of()));
    changed.add(new Version(data, false));
    secrets.put(path, changed);
  }

  private static Reply errors(int status, String... texts) throws IOException {
    return json(status, Map.of("errors", texts));
  }

  private static Reply json(int status, Map<String, Object> body) throws IOException {
    return new Reply(
        status, new String(Json.mapper().writeValueAsBytes(body), UTF_8), "X-Of", "vault");
  }

  @Override
  public void close() {
    server.close();
  }
}
