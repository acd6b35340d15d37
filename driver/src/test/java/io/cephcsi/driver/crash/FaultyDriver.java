package io.cephcsi.driver.crash;

import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A real driver process that dies at one of its writes. */
public final class FaultyDriver implements AutoCloseable {
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
   * @param fault as {@link FaultyProgram#option} takes it
   */
  static FaultyDriver start(TestCluster cluster, String fault) {
    return start("rbd", cluster, fault);
  }

  /** As {@link #start(TestCluster, String)}, for a type of driver. */
  static FaultyDriver start(String type, TestCluster cluster, String fault, String... options) {
    try {
      Path folder = Files.createTempDirectory("faulty");
      Path socket = folder.resolve("csi.sock");
      ProcessBuilder builder =
          new ProcessBuilder(
              FaultyProgram.program().toString(),
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
      builder.environment().put("CEPH_CSI_JAVA_OPTS", FaultyProgram.option(fault));
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

  ControllerGrpc.ControllerBlockingStub controller() {
    return ControllerGrpc.newBlockingStub(channel).withWaitForReady();
  }

  /** The channel, for other stubs. */
  ManagedChannel channel() {
    return channel;
  }

  /** How long a process may take to end that gave a call no answer; a machine may be busy. */
  static Duration ending(boolean answered) {
    return answered ? Duration.ZERO : Duration.ofSeconds(30);
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

  /**
   * Has a process that stops at each write go on to one where a condition holds, or until something
   * else has come about; whether it is stopped there.
   */
  boolean stepsTo(BooleanSupplier condition, BooleanSupplier other)
      throws IOException, InterruptedException {
    while (stoppedUnless(other)) {
      if (condition.getAsBoolean()) {
        return true;
      }
      resume();
    }
    return false;
  }

  /** Whether none of its threads runs; they are stopped one after the other. */
  private boolean isStopped() throws IOException {
    Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
    try (Stream<Path> found = Files.list(threads)) {
      for (Path thread : found.toList()) {
        String status = Files.readString(thread.resolve("status"));
        if (status.lines().noneMatch(line -> line.startsWith("State:\tT"))) {
          return false;
        }
      }
      return true;
    } catch (IOException e) {
      if (!process.isAlive()) {
        throw e;
      }
      return false; // a thread ended meanwhile
    }
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
