package io.cephcsi.driver.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** A server with TLS on loopback that notes what was asked. */
public final class TestServer implements AutoCloseable {
  private final HttpsServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<Asked> asked = new CopyOnWriteArrayList<>();

  /** What was asked: method, path with query, body, and some headers. */
  public record Asked(
      String method, String path, String body, String authorization, String token, String space) {}

  /** Answers. */
  public interface Handler {
    /** What to answer to a request. */
    Reply answer(Asked asked) throws IOException;
  }

  /** An answer; a body of null leaves the connection without one. */
  public record Reply(int status, String body, String header, String value) {
    /** With no header of its own. */
    public Reply(int status, String body) {
      this(status, body, "X-None", "none");
    }
  }

  /** Takes the exchange over from the handler, for servers that misbehave. */
  public interface Raw {
    /** Answers, or not. */
    void handle(HttpExchange exchange) throws IOException, InterruptedException;
  }

  private TestServer(SSLContext tls, boolean clientCertificate, Raw raw) throws IOException {
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(
        new HttpsConfigurator(tls) {
          @Override
          public void configure(HttpsParameters parameters) {
            SSLParameters of = getSSLContext().getDefaultSSLParameters();
            of.setNeedClientAuth(clientCertificate);
            parameters.setSSLParameters(of);
          }
        });
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            raw.handle(exchange);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    server.setExecutor(threads);
    server.start();
  }

  /** One that answers by a handler. */
  public static TestServer of(TestKeys keys, Handler handler) throws Exception {
    return of(keys, false, handler);
  }

  /** As {@link #of(TestKeys, Handler)}; it may ask for a certificate of the client. */
  public static TestServer of(TestKeys keys, boolean clientCertificate, Handler handler)
      throws Exception {
    TestServer[] self = new TestServer[1];
    self[0] =
        new TestServer(
            keys.context(),
            clientCertificate,
            exchange -> {
              Asked asked = asked(exchange);
              self[0].asked.add(asked);
              Reply reply = handler.answer(asked);
              byte[] body = reply.body().getBytes(java.nio.charset.StandardCharsets.UTF_8);
              exchange.getResponseHeaders().add(reply.header(), reply.value());
              exchange.sendResponseHeaders(reply.status(), body.length == 0 ? -1 : body.length);
              exchange.getResponseBody().write(body);
            });
    return self[0];
  }

  /** One that misbehaves. */
  public static TestServer raw(TestKeys keys, Raw raw) throws Exception {
    return new TestServer(keys.context(), false, raw);
  }

  private static Asked asked(HttpExchange exchange) throws IOException {
    String body =
        new String(
            exchange.getRequestBody().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    return new Asked(
        exchange.getRequestMethod(),
        exchange.getRequestURI().toString(),
        body,
        header(exchange, "Authorization"),
        header(exchange, "X-Vault-Token"),
        header(exchange, "X-Vault-Namespace"));
  }

  private static String header(HttpExchange exchange, String name) {
    String value = exchange.getRequestHeaders().getFirst(name);
    return value == null ? "" : value;
  }

  /** What was asked so far. */
  public List<Asked> asked() {
    return asked;
  }

  /** How often something was asked of a path that begins so. */
  public long count(String method, String path) {
    return asked.stream()
        .filter(one -> one.method().equals(method) && one.path().startsWith(path))
        .count();
  }

  /** Its address, by number. */
  public String address() {
    return "https://127.0.0.1:" + port();
  }

  /** Its port. */
  public int port() {
    return server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
