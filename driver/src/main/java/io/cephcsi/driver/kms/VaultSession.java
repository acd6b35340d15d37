package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.HttpCalls;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Calls to one Vault as one user of it. It keeps the token until shortly before its lease ends.
 * Safe for several threads.
 */
final class VaultSession {
  private static final Duration LONGEST_KEPT = Duration.ofHours(1);
  private static final int SHOWN = 300;
  private static final String LOGIN = "auth";

  /**
   * How many calls of a tenant are under way at most: a Vault that is silent keeps them for long.
   */
  static final int MOST_AT_ONCE = 16;

  /** How long others wait for one of those to end, as it does at once where Vault answers. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final String name;
  private final VaultSettings settings;
  private final HttpCalls calls;
  private final boolean logsIn;
  private final Function<Deadline, String> credential;
  private final ReentrantLock login = new ReentrantLock();
  private final Semaphore places;
  private volatile @Nullable Token token;
  private volatile @Nullable Boolean versioned;

  private record Token(String text, long end) {}

  /**
   * An answer.
   *
   * @param status of HTTP
   * @param json its body; empty when it is none of JSON
   * @param sent what of the request must not be shown, as the server may send it back
   */
  record Answer(int status, Map<?, ?> json, List<String> sent) {
    @Override
    public String toString() {
      return "status " + status;
    }

    boolean isGood() {
      return status / 100 == 2;
    }

    /** The texts of the field {@code errors}. */
    List<?> errors() {
      return json.get("errors") instanceof List<?> errors ? errors : List.of();
    }
  }

  /**
   * @param id of the KMS, for messages
   * @param tls whom to trust
   * @param logsIn whether the credential is for a login; else it is the token
   * @param credential gets a token of Vault or of Kubernetes
   * @param places one for each call that may be under way, {@link #MOST_AT_ONCE} in all; those of a
   *     tenant share them, whatever its settings
   */
  VaultSession(
      String id,
      VaultSettings settings,
      SSLContext tls,
      boolean logsIn,
      Function<Deadline, String> credential,
      Semaphore places) {
    this.name = "KMS " + id + ", Vault " + PlainText.escape(settings.address(), SHOWN);
    this.settings = settings;
    this.calls = new HttpCalls(name, tls);
    this.logsIn = logsIn;
    this.credential = credential;
    this.places = places;
  }

  VaultSettings settings() {
    return settings;
  }

  /** Whether the secrets engine keeps versions, as the settings or Vault say. */
  boolean isVersioned(Deadline deadline) {
    if (settings.backend().isPresent()) {
      return settings.backend().get().equals("kv-v2");
    }
    Boolean known = versioned;
    if (known == null) {
      known = askWhetherVersioned(deadline);
      versioned = known;
    }
    return known;
  }

  private boolean askWhetherVersioned(Deadline deadline) {
    String what = "the list of secrets engines (sys/mounts; or set vaultBackend)";
    Answer answer = call("GET", path(List.of("sys", "mounts")), "", List.of(), deadline);
    if (!answer.isGood()) {
      throw refused(what, answer);
    }
    String mount = String.join("/", segments(settings.mount())) + "/";
    Object engines = answer.json().get("data") instanceof Map<?, ?> data ? data : answer.json();
    if (engines instanceof Map<?, ?> all && all.get(mount) instanceof Map<?, ?> engine) {
      if (!List.of("kv", "generic").contains(String.valueOf(engine.get("type")))) {
        throw wrong("what is mounted at vaultBackendPath is no secrets engine of type kv");
      }
      return engine.get("options") instanceof Map<?, ?> options
          && "2".equals(options.get("version"));
    }
    throw wrong("no secrets engine is mounted at vaultBackendPath");
  }

  /** A path below the namespace, each segment in the form of a URL. */
  String path(List<String> parts) {
    StringBuilder path = new StringBuilder("/v1");
    List<String> all = new ArrayList<>(segments(settings.space()));
    all.addAll(parts);
    for (String part : all) {
      path.append('/').append(encoded(part));
    }
    return path.toString();
  }

  /** The segments of a path, without empty ones. */
  static List<String> segments(String path) {
    return List.of(path.split("/")).stream().filter(part -> !part.isEmpty()).toList();
  }

  private String encoded(String segment) {
    if (segment.equals(".") || segment.equals("..")) {
      throw wrong("a path of the configuration has a segment . or ..");
    }
    StringBuilder encoded = new StringBuilder();
    for (byte one : segment.getBytes(UTF_8)) {
      char character = (char) (one & 0xFF);
      boolean plain =
          character < 128
              && (Character.isLetterOrDigit(character) || "-._~".indexOf(character) >= 0);
      encoded.append(plain ? String.valueOf(character) : String.format("%%%02X", (int) character));
    }
    return encoded.toString();
  }

  /**
   * Sends a request that may be sent again. When Vault refuses the token, it logs in again, once.
   *
   * @param body JSON; empty for none
   * @param secrets what of the body must not be shown
   * @throws VolumeException UNAVAILABLE when Vault does not answer, or only that it is busy; soon
   *     when many calls of the tenant wait already
   */
  Answer call(String method, String path, String body, List<String> secrets, Deadline deadline) {
    return LongStep.call(
        () -> {
          takePlace(deadline);
          try {
            return loggedInCall(method, path, body, secrets, deadline);
          } finally {
            places.release();
          }
        });
  }

  private void takePlace(Deadline deadline) {
    try {
      if (!places.tryAcquire(deadline.within(PATIENCE).left().toNanos(), TimeUnit.NANOSECONDS)) {
        throw new VolumeException(
            Reason.UNAVAILABLE, name + ": " + MOST_AT_ONCE + " calls wait for it already");
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private VolumeException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new VolumeException(Reason.UNAVAILABLE, name + ": the call was interrupted", e);
  }

  private Answer loggedInCall(
      String method, String path, String body, List<String> secrets, Deadline deadline) {
    Token used = token(deadline);
    Answer answer = send(method, path, body, secrets, used.text(), deadline);
    if (answer.status() == 403 && logsIn) {
      forget(used);
      Token fresh = token(deadline);
      answer = send(method, path, body, secrets, fresh.text(), deadline);
    }
    return answer;
  }

  private Answer send(
      String method,
      String path,
      String body,
      List<String> secrets,
      String with,
      Deadline deadline) {
    HttpRequest.Builder request = request(path).header("X-Vault-Token", with);
    request.method(
        method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    List<String> hidden = new ArrayList<>(secrets);
    hidden.add(with);
    return answer(request.build(), hidden, deadline);
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(settings.address() + path))
        .header("X-Vault-Request", "true")
        .header("Content-Type", "application/json");
  }

  private Answer answer(HttpRequest request, List<String> secrets, Deadline deadline) {
    HttpCalls.Answer got = calls.send(request, deadline);
    Map<?, ?> json = Map.of();
    try {
      if (got.body().length > 0 && Json.bounded(got.body()) instanceof Map<?, ?> found) {
        json = found;
      }
    } catch (IOException | StackOverflowError e) {
      if (got.isGood()) {
        throw new VolumeException(
            Reason.UNAVAILABLE,
            name + ": the answer is no JSON of at most " + Json.MOST_PARTS + " parts");
      }
    }
    Answer answer = new Answer(got.status(), json, List.copyOf(secrets));
    if (got.isTemporary()) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          name + ": status " + got.status() + ServerErrors.shown(answer.errors(), secrets));
    }
    if (got.status() / 100 == 3) {
      throw wrong("it refers to another address, which is not followed: set that as vaultAddress");
    }
    return answer;
  }

  private Token token(Deadline deadline) {
    Token known = token;
    if (known != null && known.end() - System.nanoTime() > 0) {
      return known;
    }
    if (!logsIn) {
      return new Token(credential.apply(deadline), System.nanoTime());
    }
    return loggedIn(deadline);
  }

  /** Waits for another thread's login, or logs in. */
  private Token loggedIn(Deadline deadline) {
    try {
      if (!login.tryLock(deadline.left().toNanos(), TimeUnit.NANOSECONDS)) {
        throw new VolumeException(Reason.UNAVAILABLE, name + ": the login takes too long");
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    try {
      Token known = token; // another thread may have logged in meanwhile
      if (known == null || known.end() - System.nanoTime() <= 0) {
        known = logIn(deadline);
        token = known;
      }
      return known;
    } finally {
      login.unlock();
    }
  }

  private void forget(Token refused) {
    if (refused.equals(token)) {
      token = null;
    }
  }

  private Token logIn(Deadline deadline) {
    String account = credential.apply(deadline);
    List<String> parts = new ArrayList<>(List.of("auth"));
    parts.addAll(segments(settings.authMount()));
    parts.add("login");
    StringBuilder path = new StringBuilder("/v1");
    parts.forEach(part -> path.append('/').append(encoded(part)));
    HttpRequest.Builder request = request(path.toString());
    if (!settings.loginSpace().isEmpty()) {
      request.header("X-Vault-Namespace", settings.loginSpace());
    }
    request.POST(
        BodyPublishers.ofString(RestCalls.json(Map.of("jwt", account, "role", settings.role()))));
    Answer answer = answer(request.build(), List.of(account), deadline);
    if (!answer.isGood() || !(answer.json().get(LOGIN) instanceof Map<?, ?> auth)) {
      throw new VolumeException(
          Reason.UNAUTHENTICATED,
          name
              + " refuses the login as role "
              + PlainText.show(settings.role())
              + " at "
              + PlainText.show(settings.authMount())
              + " (status "
              + answer.status()
              + ")"
              + ServerErrors.shown(answer.errors(), List.of(account)));
    }
    String text =
        Checks.token(
            name + ": the token",
            Optional.ofNullable(auth.get("client_token")).map(String::valueOf).orElse(""));
    return new Token(text, System.nanoTime() + kept(auth.get("lease_duration")).toNanos());
  }

  /** A tenth of the lease, and at most half a minute, is left for calls that use the token. */
  private static Duration kept(@Nullable Object lease) {
    String text = String.valueOf(lease);
    long seconds = text.matches("[0-9]{1,9}") ? Long.parseLong(text) : 0;
    if (seconds == 0) {
      return LONGEST_KEPT; // it has no end
    }
    Duration kept = Duration.ofSeconds(seconds).minusMillis(Math.min(30_000, seconds * 100));
    return kept.compareTo(LONGEST_KEPT) < 0 ? kept : LONGEST_KEPT;
  }

  /** Vault does not do what was asked. */
  VolumeException refused(String what, Answer answer) {
    return new VolumeException(
        answer.status() == 401 ? Reason.UNAUTHENTICATED : Reason.FAILED_PRECONDITION,
        name
            + " refuses "
            + what
            + " (status "
            + answer.status()
            + ")"
            + ServerErrors.shown(answer.errors(), answer.sent()));
  }

  /** What answers is not Vault, such as a proxy before it. */
  VolumeException notOfVault(Answer answer) {
    return new VolumeException(
        Reason.UNAVAILABLE,
        name
            + ": status "
            + answer.status()
            + " is not Vault's: its body is not what Vault says of a secret that is not there");
  }

  /** Something is wrong with Vault's setup. */
  VolumeException wrong(String why) {
    return new VolumeException(Reason.FAILED_PRECONDITION, name + ": " + why);
  }
}
