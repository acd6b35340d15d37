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
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import net.bytebuddy.ByteBuddy;
import org.awaitility.Awaitility;

/** A real driver process that dies at one of its writes. */
final class FaultyDriver implements AutoCloseable {
  private static final Path PROGRAM =
      LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi");

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
  static FaultyDriver start(String type, TestCluster cluster, Path agent, String fault) {
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
  static Path packAgent() throws IOException {
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
      for (Class<?> type : List.of(FaultAgent.class, FaultPoint.class)) {
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

  /** Whether the process was halted, now or within a time. */
  boolean halted(Duration within) throws InterruptedException {
    return process.waitFor(within.toMillis(), TimeUnit.MILLISECONDS)
        && process.exitValue() == FaultPoint.HALTED;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    channels.close();
    process.destroyForcibly();
  }
}
