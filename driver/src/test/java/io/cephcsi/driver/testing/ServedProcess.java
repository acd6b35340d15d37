package io.cephcsi.driver.testing;

import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.testing.LocalCluster;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** The real program as a process of its own, killed when it is closed. */
public final class ServedProcess implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(60);

  private final Process process;
  private final Path output;
  private final SocketChannels channels = new SocketChannels();
  private final List<ManagedChannel> open = new ArrayList<>();

  private ServedProcess(Process process, Path output) {
    this.process = process;
    this.output = output;
  }

  /** Starts the program; all its output goes to a file in the folder. */
  public static ServedProcess start(Path folder, String... args) {
    return startBy(List.of(), folder, args);
  }

  /**
   * As {@link #start}, by a program that becomes this one.
   *
   * @param starter it, and its own arguments
   */
  public static ServedProcess startBy(List<String> starter, Path folder, String... args) {
    try {
      List<String> command = new ArrayList<>(starter);
      command.add(LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi").toString());
      command.addAll(List.of(args));
      Path output = Files.createTempFile(folder, "output", ".log");
      return new ServedProcess(
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start(),
          output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A new channel to a socket, closed with this object. */
  public ManagedChannel channel(Path socket) {
    ManagedChannel channel = channels.open(socket);
    open.add(channel);
    return channel;
  }

  /** Waits until a socket answers, and gives a channel to it. */
  public ManagedChannel awaitServing(Path socket) {
    ManagedChannel channel = channel(socket);
    Awaitility.await()
        .alias("serving " + socket)
        .atMost(START)
        .until(
            () -> {
              if (!process.isAlive()) {
                throw new IllegalStateException("the process ended: " + output());
              }
              channel.resetConnectBackoff();
              return answers(channel);
            });
    return channel;
  }

  /** Waits until a driver says that it is ready. */
  public ManagedChannel awaitReady(Path socket) {
    ManagedChannel channel = awaitServing(socket);
    Awaitility.await()
        .atMost(START)
        .until(
            () ->
                IdentityGrpc.newBlockingStub(channel)
                    .probe(ProbeRequest.getDefaultInstance())
                    .getReady()
                    .getValue());
    return channel;
  }

  private static boolean answers(ManagedChannel channel) {
    try {
      return IdentityGrpc.newBlockingStub(channel)
          .withDeadlineAfter(5, TimeUnit.SECONDS)
          .probe(ProbeRequest.getDefaultInstance())
          .hasReady();
    } catch (StatusRuntimeException e) {
      // A socket for CSI-Addons alone answers, too.
      return e.getStatus().getCode() == io.grpc.Status.Code.UNIMPLEMENTED;
    }
  }

  /** The metrics, or an empty text while they are not served. */
  public static String metrics(int port) {
    try {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/metrics"))
                  .timeout(Duration.ofSeconds(10))
                  .build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  /** All that the process printed. */
  public String output() {
    try {
      return Files.readString(output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends SIGTERM. */
  public void terminate() {
    process.destroy();
  }

  /** Sends SIGKILL and waits for the end. */
  public void kill() {
    process.destroyForcibly();
    awaitExit(Duration.ofSeconds(30));
  }

  /** The number of the process. */
  public long pid() {
    return process.pid();
  }

  /** Whether the process runs. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /** Waits for the end and gives the exit code. */
  public int awaitExit(Duration limit) {
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("still running after " + limit + ": " + output());
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    open.forEach(ManagedChannel::shutdownNow);
    channels.close();
    process.destroyForcibly();
  }
}
