package io.cephcsi.driver.http;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/**
 * Calls to one server: no redirects, bounded answers, a deadline for all of it however slowly the
 * server sends, and a few attempts at what is temporary. Safe for several threads.
 *
 * <p>Messages have the server and the kind of failure; nothing that was sent or received, except
 * what TLS says of a certificate.
 */
public final class HttpCalls {
  /** The longest answer that is read, in bytes: what etcd, and so a Secret, may have. */
  public static final int LARGEST_BODY = 3 << 19;

  private static final Duration CONNECT = Duration.ofSeconds(5);

  /** A server, or a connection to it, may be silent once; after that it gets what time there is. */
  private static final Duration ATTEMPT = Duration.ofSeconds(7);

  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
  private static final int ATTEMPTS = 5;
  private static final int SHOWN = 200;

  private final String server;
  private final HttpClient client;

  /**
   * @param server for messages: what it is, at which address
   * @param tls whom to trust, and as whom to call
   */
  public HttpCalls(String server, SSLContext tls) {
    this.server = server;
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(CONNECT)
            .sslContext(tls)
            .build();
  }

  /**
   * An answer.
   *
   * @param status of HTTP
   * @param retryAfter how long the server asks to wait; zero when it does not
   */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  public record Answer(int status, byte[] body, Duration retryAfter) {
    /** Whether the server did what was asked. */
    public boolean isGood() {
      return status / 100 == 2;
    }

    /** Whether the same request may be answered otherwise a moment later. */
    public boolean isTemporary() {
      return status == 408 || status == 429 || (status >= 500 && status != 501);
    }

    @Override
    public String toString() {
      return "status " + status;
    }
  }

  /** What it calls, for messages. */
  public String server() {
    return server;
  }

  /**
   * Sends a request that may be sent again, until the answer says more than that the server is
   * busy.
   *
   * @return the last answer, which may be temporary
   * @throws VolumeException UNAVAILABLE when there is no answer by the deadline. An attempt that
   *     the deadline cut off says nothing of its own: the failure before it is thrown, if there was
   *     one
   */
  public Answer send(HttpRequest request, Deadline deadline) {
    Duration pause = FIRST_PAUSE;
    VolumeException before = null;
    boolean wasSilent = false;
    for (int attempt = 1; ; attempt++) {
      Duration wait = pause;
      try {
        Answer answer = sendOnce(request, wasSilent ? deadline : deadline.within(ATTEMPT));
        wait = answer.retryAfter().compareTo(pause) > 0 ? answer.retryAfter() : pause;
        if (!answer.isTemporary() || attempt == ATTEMPTS || !deadline.sleep(wait)) {
          return answer;
        }
      } catch (VolumeException e) {
        if (before != null && deadline.left().isZero()) {
          throw before;
        }
        before = e;
        wasSilent |= e.getCause() instanceof TimeoutException;
        if (Thread.currentThread().isInterrupted()
            || attempt == ATTEMPTS
            || e.getCause() instanceof BoundedBody.TooLong
            || !deadline.sleep(wait)) {
          throw e;
        }
      }
      Duration next = pause.multipliedBy(2);
      pause = next.compareTo(LONGEST_PAUSE) < 0 ? next : LONGEST_PAUSE;
    }
  }

  private Answer sendOnce(HttpRequest request, Deadline deadline) {
    CompletableFuture<HttpResponse<byte[]>> running =
        client.sendAsync(request, BoundedBody.upTo(LARGEST_BODY));
    try {
      HttpResponse<byte[]> response = running.get(deadline.left().toNanos(), TimeUnit.NANOSECONDS);
      return new Answer(response.statusCode(), response.body(), retryAfter(response));
    } catch (ExecutionException e) {
      throw failure(e);
    } catch (TimeoutException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, server + ": there is no complete answer in time", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unavailable("the call was interrupted");
    } finally {
      running.cancel(true);
    }
  }

  private static Duration retryAfter(HttpResponse<?> response) {
    Optional<String> seconds =
        response.headers().firstValue("Retry-After").filter(text -> text.matches("[0-9]{1,4}"));
    return seconds.map(text -> Duration.ofSeconds(Integer.parseInt(text))).orElse(Duration.ZERO);
  }

  /** Without its cause, whose text may have what a server sent back of the request. */
  private VolumeException failure(Throwable thrown) {
    Throwable root = thrown;
    for (int depth = 0; depth < 10 && root.getCause() != null; depth++) {
      root = root.getCause();
      if (root instanceof BoundedBody.TooLong) {
        return new VolumeException(Reason.UNAVAILABLE, server + ": " + root.getMessage(), root);
      }
      if (root instanceof UnresolvedAddressException || root instanceof UnknownHostException) {
        return unavailable("the name of the host is not known");
      }
      if (root instanceof HttpConnectTimeoutException) {
        return unavailable("there is no connection in time");
      }
      if (root instanceof SSLException) {
        return unavailable("SSL/TLS: " + PlainText.escape(deepest(root), SHOWN));
      }
    }
    if (thrown.getCause() instanceof ConnectException) {
      return unavailable("the connection is refused, or there is no route");
    }
    return unavailable(
        root instanceof IOException
            ? "the connection broke, or the answer is not HTTP"
            : "the request failed");
  }

  private static String deepest(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; depth < 10 && cause.getCause() != null; depth++) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage());
  }

  private VolumeException unavailable(String why) {
    return new VolumeException(Reason.UNAVAILABLE, server + ": " + why);
  }
}
