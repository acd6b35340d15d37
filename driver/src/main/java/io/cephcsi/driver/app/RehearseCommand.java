package io.cephcsi.driver.app;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.grpc.MethodCatalog;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.volume.Json;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * {@code ceph-csi rehearse}: loads what a driver needs, with no cluster and no effect. The JVM that
 * is told to archive its classes at exit ({@code bin/ceph-csi-archive}) then knows them, and later
 * ones start in a fraction of the time.
 */
@Command(
    name = "rehearse",
    description = "Loads all classes of a driver, for bin/ceph-csi-archive.",
    hidden = true,
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
final class RehearseCommand implements Callable<Integer> {
  private static final String OURS = "ceph-csi-";
  // What calls use once there is a cluster. Classes that no server needs would cost it memory.
  private static final Pattern SERVED =
      Pattern.compile(
          "io/cephcsi/(bindings|driver/(cluster|journal|tracker|operation|volume|rbd|cephfs))/.*");
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  // An empty request is empty in every format: nothing is loaded that only clients need.
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Override
  public Integer call() throws IOException {
    Path folder = Files.createTempDirectory("ceph-csi-rehearsal");
    try {
      serve(folder);
    } finally {
      try (var files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          Files.deleteIfExists(file);
        }
      }
      Files.delete(folder);
    }
    for (Path jar : ownJars()) {
      load(jar);
    }
    return 0;
  }

  /** Starts as serve does, and calls every method with an empty request; no answer matters. */
  private static void serve(Path folder) throws IOException {
    Path clusters = folder.resolve("config.json");
    Files.writeString(clusters, "[{\"clusterID\": \"none\", \"monitors\": [\"127.0.0.1:1\"]}]");
    StringBuilder settings = new StringBuilder("clustersFile: " + clusters + "\ndrivers:\n");
    List<Path> sockets = new ArrayList<>();
    for (DriverConfig.Type type : DriverConfig.Type.values()) {
      Path socket = folder.resolve(type.name());
      sockets.add(socket);
      settings.append(
          "  - {type: %s, endpoint: 'unix://%s', nodeId: rehearsal, controller: true, node: true}\n"
              .formatted(type.name().toLowerCase(Locale.ROOT), socket));
    }
    Path config = Files.writeString(folder.resolve("drivers.yaml"), settings);
    EarlyStart.begin();
    ServeCommand command = new ServeCommand();
    new CommandLine(command).parseArgs("--config", config.toString());
    DriverProcess process = command.start();
    try (SocketChannels channels = new SocketChannels()) {
      for (Path socket : sockets) {
        ManagedChannel channel = channels.open(socket);
        MethodCatalog.names().forEach(method -> call(channel, method));
        channel.shutdownNow();
      }
    } finally {
      process.close();
    }
    JsonNode answer =
        Json.mapper().readTree("[{\"name\": [\"text\", 1, true, null]}]"); // a cluster's
    Json.mapper().writeValueAsString(Map.of("asked", answer.toString()));
  }

  private static void call(ManagedChannel channel, String method) {
    MethodDescriptor<byte[], byte[]> descriptor =
        MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodType.SERVER_STREAMING) // one answer or several
            .setFullMethodName(method)
            .setRequestMarshaller(BYTES)
            .setResponseMarshaller(BYTES)
            .build();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    try {
      ClientCalls.blockingServerStreamingCall(channel, descriptor, options, new byte[0])
          .forEachRemaining(answer -> {});
    } catch (StatusRuntimeException e) {
      // Empty requests are refused: that is what most of them are for.
    }
  }

  private static List<Path> ownJars() throws IOException {
    Path jar;
    try {
      jar = Path.of(DriverMain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IOException(e);
    }
    if (!Files.isRegularFile(jar)) {
      return List.of(); // folders of classes cannot be archived
    }
    try (var files = Files.newDirectoryStream(jar.resolveSibling("."), OURS + "*.jar")) {
      List<Path> jars = new ArrayList<>();
      files.forEach(jars::add);
      return jars;
    }
  }

  private void load(Path path) throws IOException {
    try (JarFile jar = new JarFile(path.toFile())) {
      jar.stream()
          .map(JarEntry::getName)
          .filter(name -> name.endsWith(".class") && SERVED.matcher(name).matches())
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .filter(name -> !name.endsWith("-info"))
          .forEach(this::load);
    }
  }

  private void load(String name) {
    try {
      // Initialized, the mappings of the libraries load what they need of JNA.
      Class.forName(name, true, RehearseCommand.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      spec.commandLine()
          .getErr()
          .println(DriverMain.shown(name + " is left out: " + e.getMessage()));
    }
  }
}
