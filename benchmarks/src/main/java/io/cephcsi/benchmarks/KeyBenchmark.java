package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.kms.Passphrase;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does it cost to get the passphrase of an encrypted volume: with what the process keeps of
 * calls before, and without? Vault is a plain HTTP server of this process, which answers at once.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = "-Dsun.net.httpserver.nodelay=true") // else it waits for 40 ms
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class KeyBenchmark {
  private static final String ID = "0001-000c-test-cluster-0000000000000001-0123456789abcdef";
  private static final String PASSPHRASE = "AAECAwQFBgcICQoLDA0ODxAREhM=";

  private @Nullable HttpServer server;
  private @Nullable ExecutorService answers;
  private @Nullable Path folder;
  private @Nullable KmsConfig kept;
  private String wrapped = "";

  /** Starts the server, and writes the configuration. */
  @Setup(Level.Trial)
  public void start() throws IOException {
    HttpServer made =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    ExecutorService threads = Executors.newCachedThreadPool();
    made.setExecutor(threads);
    made.createContext("/v1/", KeyBenchmark::answer);
    made.start();
    Path place = Files.createTempDirectory("keys");
    Files.writeString(place.resolve("token"), "a-token-of-the-pod");
    Files.writeString(
        place.resolve("kms.json"),
        """
        {"vault": {"encryptionKMSType": "vault", "vaultAddress": "http://localhost:%d",
                   "vaultBackendPath": "secret", "vaultAuthPath": "/v1/auth/kubernetes/login",
                   "vaultRole": "csi"},
         "meta": {"encryptionKMSType": "metadata"}}
        """
            .formatted(made.getAddress().getPort()));
    server = made;
    answers = threads;
    folder = place;
    kept = config();
    try (Passphrase passphrase = Passphrase.of(PASSPHRASE.getBytes(UTF_8))) {
      wrapped = wrapper(config()).wrap(owner(), passphrase);
    }
  }

  /** As the documentation of Vault has it. */
  private static void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    String path = exchange.getRequestURI().getPath();
    String text =
        switch (path) {
          case "/v1/auth/kubernetes/login" ->
              "{\"auth\": {\"client_token\": \"s.token\", \"lease_duration\": 3600}}";
          case "/v1/sys/mounts" ->
              "{\"data\": {\"secret/\": {\"type\": \"kv\", \"options\": {\"version\": \"2\"}}}}";
          default ->
              "{\"data\": {\"data\": {\"data\": {\"passphrase\": \""
                  + PASSPHRASE
                  + "\"}}, \"metadata\": {\"version\": 1}}}";
        };
    byte[] body = text.getBytes(UTF_8);
    exchange.sendResponseHeaders(200, body.length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(body);
    }
  }

  private KmsConfig config() {
    Path place = Objects.requireNonNull(folder);
    KubernetesApi pod = new KubernetesApi(place, "https://localhost:1", "ceph");
    return new KmsConfig(place.resolve("kms.json"), Optional.of(pod), Map.of());
  }

  private static KeyOwner owner() {
    return new KeyOwner(ID, Optional.of("shop"), Map.of("encryptionPassphrase", "a passphrase"));
  }

  private static KeyWrapper wrapper(KmsConfig of) {
    return (KeyWrapper) of.require("meta");
  }

  private static int stored(KmsConfig of) {
    try (Passphrase found = ((KeyStore) of.require("vault")).find(owner()).orElseThrow()) {
      return found.text().length();
    }
  }

  private int unwrapped(KmsConfig of) {
    try (Passphrase found = wrapper(of).unwrap(owner(), wrapped)) {
      return found.text().length();
    }
  }

  /** Vault, by a token and a connection that the process has. */
  @Benchmark
  public int vaultKept() {
    return stored(Objects.requireNonNull(kept));
  }

  /** Vault, with a login, and a question for the version of the secrets engine. */
  @Benchmark
  public int vaultNew() {
    return stored(config());
  }

  /** Wrapped in the metadata of the image, by a key that the process has derived. */
  @Benchmark
  public int metadataKept() {
    return unwrapped(Objects.requireNonNull(kept));
  }

  /** Wrapped in the metadata of the image, by a key that scrypt derives. */
  @Benchmark
  public int metadataNew() {
    return unwrapped(config());
  }

  /** Ends the server. */
  @TearDown(Level.Trial)
  public void stop() {
    Objects.requireNonNull(server).stop(0);
    Objects.requireNonNull(answers).shutdownNow();
  }
}
