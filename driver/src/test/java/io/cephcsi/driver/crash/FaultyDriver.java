package io.cephcsi.driver.crash;

import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import net.bytebuddy.ByteBuddy;
import org.awaitility.Awaitility;

/** A real driver process that dies at one of its writes. */
public final class FaultyDriver implements AutoCloseable {
  private static final Path PROGRAM =
      LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi");

  private static final int SIGABRT = 128 + 6;

  private final Process process;
  private final SocketChannels channels = new SocketChannels();
  private final ManagedChannel channel;

  private FaultyDriver(Process process, Path socket) {
    this.process = process;
    this.channel = channels.open(socket);
  }

  /**
   * Starts a process.
   *
   * @param fault as {@link FaultAgent} takes it
   */
  static FaultyDriver start(TestCluster cluster, Path agent, String fault) {
    return start("rbd", cluster, agent, fault);
  }

  /** As {@link #start(TestCluster, Path, String)}, for a type of driver. */
  static FaultyDriver start(
      String type, TestCluster cluster, Path agent, String fault, String... options) {
    try {
      Path folder = Files.createTempDirectory("faulty");
      Path socket = folder.resolve("csi.sock");
      ProcessBuilder builder =
          new ProcessBuilder(
              PROGRAM.toString(),
              "--type=" + type,
              "--controllerserver",
              "--nodeserver",
              "--nodeid=" + TestDriver.NODE_ID,
              "--credentials="
                  + TestDriver.credentialsFolder(
                      cluster,
                      folder,
                      type.equals("rbd") ? cluster.rbdUser() : cluster.cephFsUser()),
              "--endpoint=unix://" + socket,
              "--clusters-file=" + TestDriver.clustersFile(cluster, folder));
      builder.command().addAll(List.of(options));
      builder.environment().put("CEPH_CSI_JAVA_OPTS", "-javaagent:" + agent + "=" + fault);
      Process process =
          builder.redirectErrorStream(true).redirectOutput(folder.resolve("log").toFile()).start();
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .pollInterval(Duration.ofMillis(50))
          .until(() -> Files.exists(socket) || !process.isAlive());
      if (!process.isAlive()) {
        throw new IllegalStateException(Files.readString(folder.resolve("log")));
      }
      return new FaultyDriver(process, socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Packs the agent; Byte Buddy is referred to where it lies. */
  public static Path packAgent() throws IOException {
    Manifest manifest = new Manifest();
    Attributes attributes = manifest.getMainAttributes();
    attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    attributes.putValue("Premain-Class", FaultAgent.class.getName());
    attributes.put(
        Attributes.Name.CLASS_PATH,
        ByteBuddy.class.getProtectionDomain().getCodeSource().getLocation().toString());
    Path jar = Files.createTempFile("fault-agent", ".jar");
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream entries = new JarOutputStream(out, manifest)) {
      for (Class<?> type : List.of(FaultAgent.class, FaultAgent.OursOnly.class, FaultPoint.class)) {
        String name = type.getName().replace('.', '/') + ".class";
        entries.putNextEntry(new JarEntry(name));
        try (var in = FaultyDriver.class.getClassLoader().getResourceAsStream(name)) {
          in.transferTo(entries);
        }
        entries.closeEntry();
      }
    }
    return jar;
  }

  ControllerGrpc.ControllerBlockingStub controller() {
    return ControllerGrpc.newBlockingStub(channel).withWaitForReady();
  }

  /** The channel, for other stubs. */
  ManagedChannel channel() {
    return channel;
  }

  /** Whether the process was halted, now or within a time. */
  boolean halted(Duration within) throws InterruptedException {
    return process.waitFor(within.toMillis(), TimeUnit.MILLISECONDS)
        && process.exitValue() == FaultPoint.HALTED;
  }

  /** Whether a native library has aborted the process, now or within a moment. */
  boolean aborted() throws InterruptedException {
    return process.waitFor(1, TimeUnit.SECONDS) && process.exitValue() == SIGABRT;
  }

  /**
   * Waits until the process is stopped, or something else has come about; whether it is stopped.
   */
  boolean stoppedUnless(BooleanSupplier other) throws IOException {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> isStopped() || other.getAsBoolean());
    return isStopped();
  }

  private boolean isStopped() throws IOException {
    String status = Files.readString(Path.of("/proc", Long.toString(process.pid()), "status"));
    return status.lines().anyMatch(line -> line.startsWith("State:\tT"));
  }

  /** Has a process that is stopped go on. */
  void resume() throws IOException, InterruptedException {
    int code = new ProcessBuilder("kill", "-CONT", Long.toString(process.pid())).start().waitFor();
    if (code != 0) {
      throw new IllegalStateException("the driver cannot be resumed");
    }
  }

  /** Lets the process end what it does in the background, as SIGTERM does. */
  void end() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(30, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the driver does not end");
    }
  }

  @Override
  public void close() {
    channel.shutdownNow();
    channels.close();
    process.destroyForcibly();
  }
}
