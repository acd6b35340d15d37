package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.Endpoints;
import io.cephcsi.driver.grpc.JsonCall;
import io.cephcsi.driver.grpc.MethodCatalog;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.grpc.StatusTable;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ceph-csi call}: one call to a driver, this one or another, from the command line. */
@Command(
    name = "call",
    description = {
      "Calls a method of a CSI driver on its Unix socket and prints the answer as JSON.",
      "Without METHOD the methods are listed."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    showDefaultValues = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:answered",
      "1:failed; the status code and its message are on stderr",
      "2:wrong command line or request"
    },
    footer = {
      "",
      "Example: ceph-csi call /csi/csi.sock ControllerReclaimSpace \\",
      "             '{\"volume_id\": \"...\"}' --secrets-file secrets"
    })
final class CallCommand implements Callable<Integer> {
  private static final String STDIN = "-";

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(index = "0", paramLabel = "SOCKET", description = "path, or unix://PATH")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private String socket;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "METHOD",
      description = "csi.v1.Controller/CreateVolume, or an end of it that no other method has")
  private @Nullable String method;

  @Parameters(
      index = "2",
      arity = "0..1",
      paramLabel = "JSON",
      description = "the request; - reads it from stdin (default: {})")
  private @Nullable String json;

  @Option(
      names = "--secrets-file",
      paramLabel = "FILE",
      description = "file with a line userID=... and a line userKey=...; - reads them from stdin")
  private @Nullable String secretsFile;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "how long to wait for the answer")
  private int timeoutSeconds = 300;

  @Override
  public Integer call() throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    if (method == null) {
      MethodCatalog.names().forEach(out::println);
      return 0;
    }
    JsonCall call = request(method);
    try (SocketChannels channels = new SocketChannels()) {
      ManagedChannel channel = channels.open(Endpoints.socket(socket));
      try {
        call.run(channel, Duration.ofSeconds(timeoutSeconds), out::println);
        return 0;
      } finally {
        channel.shutdownNow();
      }
    } catch (StatusRuntimeException e) {
      spec.commandLine().getErr().println(StatusTable.show(e));
      return DriverMain.EXIT_FAILED;
    }
  }

  private JsonCall request(String methodName) throws IOException {
    ConfigException.require(timeoutSeconds > 0, "--timeout must be at least 1 s");
    ConfigException.require(
        !(STDIN.equals(json) && STDIN.equals(secretsFile)),
        "stdin cannot be both the request and the secrets");
    try {
      JsonCall call =
          new JsonCall(methodName, STDIN.equals(json) ? stdin() : json == null ? "{}" : json);
      ConfigException.require(
          STDIN.equals(json) || !call.hasSecrets(),
          "secrets on the command line are seen by every user: give --secrets-file FILE");
      if (secretsFile != null) {
        call.addSecrets(
            secrets(STDIN.equals(secretsFile) ? stdin() : Files.readString(Path.of(secretsFile))));
      }
      return call;
    } catch (IllegalArgumentException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
  }

  private static String stdin() throws IOException {
    return new String(System.in.readAllBytes(), UTF_8);
  }

  private static Map<String, String> secrets(String text) {
    Map<String, String> secrets = new LinkedHashMap<>();
    text.lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
        .forEach(
            line -> {
              int equals = line.indexOf('=');
              ConfigException.require(equals > 0, "a line of the secrets is not KEY=VALUE");
              secrets.put(line.substring(0, equals).strip(), line.substring(equals + 1).strip());
            });
    return secrets;
  }
}
