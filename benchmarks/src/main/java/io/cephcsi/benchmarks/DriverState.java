package io.cephcsi.benchmarks;

import io.cephcsi.driver.grpc.SocketChannels;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The program itself, in a process of its own, as an RBD driver of the cluster that {@code ci/ceph
 * env} names. Run from the project's folder, after the build.
 */
@SuppressWarnings("NullAway.Init") // start comes first
final class DriverState {
  private static final String PROGRAM = "driver/target/ceph-csi/bin/ceph-csi";
  private static final String CLUSTER_ID = "benchmark";
  private static final long START_SECONDS = 60;

  ManagedChannel channel;
  Map<String, String> parameters;
  Map<String, String> secrets;

  private Path folder;
  private Process process;
  private SocketChannels channels;

  private static String environment(String name) {
    String value = System.getenv(name);
    if (value == null) {
      throw new IllegalStateException(
          name + " is not set: start a cluster by 'ci/ceph up' and eval \"$(ci/ceph env)\"");
    }
    return value;
  }

  /** Starts the driver and waits until it serves. */
  void start() throws IOException, InterruptedException {
    folder = Files.createTempDirectory("driver");
    Path socket = folder.resolve("csi.sock");
    Path config = folder.resolve("config.json");
    Files.writeString(
        config,
        "[{\"clusterID\": \""
            + CLUSTER_ID
            + "\", \"monitors\": [\""
            + environment("CEPH_MON_HOST")
            + "\"]}]");
    process =
        new ProcessBuilder(
                PROGRAM,
                "serve",
                "--type",
                "rbd",
                "--controllerserver",
                "--nodeid",
                "benchmark",
                "--endpoint",
                "unix://" + socket,
                "--clusters-file",
                config.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("driver.log").toFile())
            .start();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (!Files.exists(socket)) {
      if (!process.isAlive() || System.nanoTime() > deadline) {
        throw new IllegalStateException(Files.readString(folder.resolve("driver.log")));
      }
      Thread.sleep(20);
    }
    channels = new SocketChannels();
    channel = channels.open(socket);
    parameters = Map.of("clusterID", CLUSTER_ID, "pool", "rbd");
    secrets =
        Map.of(
            "userID",
            "csi-rbd-provisioner",
            "userKey",
            RpcLoad.key(Path.of(environment("CEPH_RBD_KEYRING"))));
  }

  /** Ends the driver. */
  void stop() throws IOException, InterruptedException {
    channel.shutdownNow();
    channels.close();
    process.destroy();
    if (!process.waitFor(START_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
    try (var files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
