package io.cephcsi.driver.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import io.cephcsi.driver.http.TestServer.Reply;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class HttpCallsTest {
  /** Where the deadline ends the call. */
  private static final Duration SHORT = Duration.ofMillis(800);

  /** Where something else ends it, on a busy machine too. */
  private static final Duration AMPLE = Duration.ofSeconds(40);

  @TempDir private static Path folder;
  private static TestKeys keys;

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(folder, "EC", "ip:127.0.0.1");
  }

  private static Tls.Pem pem(String text) {
    return new Tls.Pem("the test", text.getBytes(UTF_8));
  }

  private static SSLContext trust() throws Exception {
    return Tls.of(Optional.of(pem(keys.certificate())), Optional.empty());
  }

  private static HttpCalls.Answer get(TestServer server, SSLContext tls, Duration time) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.address() + "/secret-path"))
            .header("Authorization", "secret-header")
            .build();
    return new HttpCalls("the server", tls).send(request, Deadline.after(time));
  }

  @Test
  void anAnswerIsReadAndNoRedirectIsFollowed() throws Exception {
    try (TestServer server =
        TestServer.of(keys, asked -> new Reply(307, "away", "Location", "/other"))) {
      HttpCalls.Answer answer = get(server, trust(), AMPLE);
      assertThat(answer.status()).isEqualTo(307);
      assertThat(answer.body()).isEqualTo("away".getBytes(UTF_8));
      assertThat(server.asked()).hasSize(1);
    }
  }

  @Test
  void aTemporaryStatusIsTriedAgainAndAnotherIsNot() throws Exception {
    for (int status : new int[] {408, 429, 500, 502, 503, 504}) {
      AtomicInteger calls = new AtomicInteger();
      try (TestServer server =
          TestServer.of(keys, a -> new Reply(calls.incrementAndGet() < 3 ? status : 200, "x"))) {
        assertThat(get(server, trust(), AMPLE).status()).isEqualTo(200);
        assertThat(calls).hasValue(3);
      }
    }
    for (int status : new int[] {400, 401, 403, 404, 501}) {
      try (TestServer server = TestServer.of(keys, a -> new Reply(status, "x"))) {
        assertThat(get(server, trust(), AMPLE).status()).isEqualTo(status);
        assertThat(server.asked()).hasSize(1);
      }
    }
  }

  @Test
  void aServerThatAsksForALongPauseEndsTheAttempts() throws Exception {
    try (TestServer server =
        TestServer.of(keys, a -> new Reply(503, "busy", "Retry-After", "30"))) {
      assertThat(get(server, trust(), Duration.ofSeconds(20)).status()).isEqualTo(503);
      assertThat(server.asked()).hasSize(1);
    }
  }

  @Test
  void aLongBodyIsBrokenOff() throws Exception {
    AtomicInteger sent = new AtomicInteger();
    try (TestServer server = TestServer.raw(keys, exchange -> flood(exchange, sent))) {
      assertUnavailable(server, trust(), AMPLE, "more than 1572864 bytes");
      assertThat(sent.get()).isLessThan(200);
    }
  }

  private static void flood(HttpExchange exchange, AtomicInteger sent) {
    byte[] part = new byte[64 << 10];
    try {
      exchange.sendResponseHeaders(200, 0);
      while (sent.incrementAndGet() < 10_000) {
        exchange.getResponseBody().write(part);
      }
    } catch (java.io.IOException e) {
      assertThat(e).isNotNull(); // the client went away
    }
  }

  @Test
  void aTrickleEndsAtTheDeadline() throws Exception {
    try (TestServer server =
        TestServer.raw(
            keys,
            exchange -> {
              exchange.sendResponseHeaders(200, 0);
              for (int i = 0; i < 300; i++) {
                exchange.getResponseBody().write('x');
                exchange.getResponseBody().flush();
                Thread.sleep(100);
              }
            })) {
      long start = System.nanoTime();
      assertUnavailable(server, trust(), SHORT, "no complete answer in time");
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
    }
  }

  @Test
  void silenceEndsAtTheDeadlineWithAllAttempts() throws Exception {
    try (TestServer server = TestServer.raw(keys, exchange -> Thread.sleep(30_000))) {
      long start = System.nanoTime();
      assertUnavailable(server, trust(), SHORT, "no complete answer in time");
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
    }
  }

  @Test
  void aServerThatIsSilentOnceIsAskedAgain() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    try (TestServer server =
        TestServer.raw(
            keys,
            exchange -> {
              if (calls.incrementAndGet() == 1) {
                Thread.sleep(60_000);
              }
              exchange.sendResponseHeaders(200, -1);
            })) {
      assertThat(get(server, trust(), AMPLE).status()).isEqualTo(200);
      assertThat(calls).hasValue(2);
    }
  }

  @Test
  void aServerThatIsSlowEachTimeGetsTheTimeThatIsLeft() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    try (TestServer server =
        TestServer.raw(
            keys,
            exchange -> {
              calls.incrementAndGet();
              Thread.sleep(8_000);
              exchange.sendResponseHeaders(200, -1);
            })) {
      assertThat(get(server, trust(), AMPLE).status()).isEqualTo(200);
      assertThat(calls).hasValue(2);
    }
  }

  @Test
  void aConnectionThatBreaksIsUnavailable() throws Exception {
    try (TestServer server = TestServer.raw(keys, exchange -> exchange.close())) {
      assertUnavailable(server, trust(), AMPLE, "the connection broke");
    }
  }

  @Test
  void aServerMustHaveTheNameInItsUrl() throws Exception {
    TestKeys other = TestKeys.make(folder, "EC", "dns:vault.example.com");
    Optional<Tls.Pem> ca = Optional.of(pem(other.certificate()));
    try (TestServer server = TestServer.of(other, a -> new Reply(200, "x"))) {
      assertUnavailable(server, Tls.of(ca, Optional.empty()), AMPLE, "SSL");
      assertUnavailable(server, trust(), AMPLE, "SSL");
      assertUnavailable(server, Tls.of(ca, Optional.empty(), "vault.example.org"), AMPLE, "SSL");
      assertThat(server.asked()).isEmpty();
      assertThat(get(server, Tls.of(ca, Optional.empty(), "vault.example.com"), AMPLE).isGood())
          .isTrue();
      assertThat(get(server, Tls.withoutVerification(Optional.empty()), AMPLE).isGood()).isTrue();
    }
  }

  @Test
  void aClientShowsItsCertificate() throws Exception {
    for (String algorithm : new String[] {"EC", "RSA"}) {
      TestKeys both = TestKeys.make(folder, algorithm, "ip:127.0.0.1");
      Optional<Tls.Pem> ca = Optional.of(pem(both.certificate()));
      try (TestServer server = TestServer.of(both, true, a -> new Reply(200, "x"))) {
        Tls.Identity identity = new Tls.Identity(pem(both.certificate()), pem(both.key()));
        assertThat(get(server, Tls.of(ca, Optional.of(identity)), AMPLE).isGood()).isTrue();
        assertThatThrownBy(() -> get(server, Tls.of(ca, Optional.empty()), AMPLE))
            .isInstanceOf(VolumeException.class);
      }
    }
  }

  @Test
  void badPemIsNamedByItsSourceWithoutItsText() throws Exception {
    for (String text : new String[] {"", "none-of-this", keys.certificate().substring(0, 200)}) {
      assertThatThrownBy(() -> Tls.of(Optional.of(pem(text)), Optional.empty()))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("the test")
          .satisfies(e -> assertThat(e.getMessage()).doesNotContain("none-of-this"));
    }
    Tls.Pem bad = pem(keys.key().replace("M", "!!"));
    assertThatThrownBy(() -> Tls.privateKey(bad))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("the test");
  }

  private static void assertUnavailable(
      TestServer server, SSLContext tls, Duration time, String text) {
    assertThatThrownBy(() -> get(server, tls, time))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> {
              assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE);
              assertThat(e).hasMessageContaining(text);
              assertThat(e.getMessage()).doesNotContain("secret").contains("the server");
            });
  }
}
