package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.testing.LocalCluster;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The program itself, in a process of its own, as an RBD (and a CephFS) driver of a cluster. */
@SuppressWarnings("NullAway.Init") // start comes first
final class DriverState {
  private static final String PROGRAM = "driver/target/ceph-csi/bin/ceph-csi";
  private static final String CLUSTER_ID = "benchmark";
  private static final long START_SECONDS = 60;

  ManagedChannel channel;
  ManagedChannel cephFs;
  Map<String, String> parameters;
  Map<String, String> cephFsParameters;
  Map<String, String> secrets;

  private Path folder;
  private Process process;
  private SocketChannels channels;

  /** Starts the driver and waits until it serves. */
  void start() throws IOException, InterruptedException {
    start(BenchCluster.conf(), true);
  }

  /**
   * Starts the driver and waits until it answers a Probe.
   *
   * @param cephFsToo serves RBD and CephFS, by a configuration file; else RBD, by options
   * @return the milliseconds that this took
   */
  double start(Path conf, boolean cephFsToo) throws IOException, InterruptedException {
    folder = Files.createTempDirectory("driver");
    String monitors;
    try (RadosCluster cluster = RbdImages.connection(conf)) {
      monitors = cluster.option("mon_host");
      String key =
          cluster
              .monCommand(
                  "{\"prefix\": \"auth get-key\", \"entity\": \"client.admin\", \"format\": \"plain\"}")
              .text()
              .strip();
      secrets = Map.of("userID", "admin", "userKey", key, "adminID", "admin", "adminKey", key);
    }
    Path clusters = folder.resolve("config.json");
    Files.writeString(
        clusters,
        "[{\"clusterID\": \"" + CLUSTER_ID + "\", \"monitors\": [\"" + monitors + "\"]}]");
    Path credentials = folder.resolve("credentials");
    Path user = Files.createDirectories(credentials.resolve(CLUSTER_ID));
    Files.writeString(user.resolve("userID"), "admin");
    Files.writeString(user.resolve("userKey"), secrets.getOrDefault("userKey", ""));
    channels = new SocketChannels();
    Path socket = folder.resolve("rbd.sock");
    List<String> command = new ArrayList<>(List.of(program(), "serve"));
    command.addAll(
        cephFsToo
            ? List.of("--config", config(clusters, credentials, socket).toString())
            : List.of(
                "--type=rbd",
                "--controllerserver",
                "--endpoint=unix://" + socket,
                "--clusters-file=" + clusters,
                "--credentials=" + credentials));
    long start = System.nanoTime();
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("driver.log").toFile())
            .start();
    channel = awaitProbe(socket, start);
    double millis = (System.nanoTime() - start) / 1e6;
    if (cephFsToo) {
      cephFs = channels.open(folder.resolve("cephfs.sock"));
    }
    parameters = Map.of("clusterID", CLUSTER_ID, "pool", RbdImages.POOL);
    cephFsParameters = Map.of("clusterID", CLUSTER_ID, "fsName", "cephfs");
    return millis;
  }

  private Path config(Path clusters, Path credentials, Path socket) throws IOException {
    Path config = folder.resolve("drivers.yaml");
    Files.writeString(
        config,
        """
        clustersFile: %s
        drivers:
          - {type: rbd, endpoint: "unix://%s", controller: true, credentials: %s}
          - {type: cephfs, endpoint: "unix://%s", controller: true, credentials: %s}
        """
            .formatted(clusters, socket, credentials, folder.resolve("cephfs.sock"), credentials));
    return config;
  }

  private static String program() {
    return LocalCluster.root().resolve(PROGRAM).toString();
  }

  private ManagedChannel awaitProbe(Path socket, long start)
      throws IOException, InterruptedException {
    while (true) {
      if (!process.isAlive()
          || System.nanoTime() - start > TimeUnit.SECONDS.toNanos(START_SECONDS)) {
        throw new IllegalStateException(Files.readString(folder.resolve("driver.log")));
      }
      if (Files.exists(socket)) {
        ManagedChannel opened = channels.open(socket);
        try {
          if (IdentityGrpc.newBlockingStub(opened)
              .probe(ProbeRequest.getDefaultInstance())
              .isInitialized()) {
            return opened;
          }
        } catch (StatusRuntimeException e) {
          opened.shutdownNow(); // it is bound and not yet listening
        }
      }
      Thread.sleep(1);
    }
  }

  /** Waits until it has prepared itself for calls on RBD and CephFS. */
  void awaitPrepared() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (Files.readString(folder.resolve("driver.log")).split("prepared for calls").length < 3) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(Files.readString(folder.resolve("driver.log")));
      }
      Thread.sleep(50);
    }
  }

  /** The most memory that the driver has had, in bytes. */
  long peakMemory() throws IOException {
    return Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "status")).stream()
        .filter(line -> line.startsWith("VmHWM:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
        .findFirst()
        .orElseThrow();
  }

  /** The CPU that the driver has used, in milliseconds; it is counted in hundredths of a second. */
  double cpuMillis() throws IOException {
    return ProcessCpu.ticks(process.pid()) * ProcessCpu.MILLIS_PER_TICK;
  }

  /** Ends the driver. */
  void stop() throws IOException, InterruptedException {
    channel.shutdownNow();
    if (cephFs != null) {
      cephFs.shutdownNow();
    }
    channels.close();
    process.destroy();
    if (!process.waitFor(START_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
    try (var files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
