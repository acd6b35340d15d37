package io.cephcsi.driver.testing;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Where processes of the real program are started, one after the other with the same command line:
 * each finds the folder as the one before left it. A controller only, with credentials of its own.
 */
public final class DriverSeat implements AutoCloseable {
  private final Path folder;
  private final Path socket;
  private final List<String> starter;
  private final List<String> arguments = new ArrayList<>();
  private final SocketChannels channels = new SocketChannels();
  private final ManagedChannel channel;

  /**
   * A place on a cluster.
   *
   * @param starter a program that becomes the driver, and its own arguments; may be empty
   * @param options more options of the driver
   */
  public DriverSeat(
      DriverConfig.Type type,
      TestCluster cluster,
      String user,
      List<String> starter,
      String... options) {
    try {
      this.folder = Files.createTempDirectory("seat");
      this.socket = folder.resolve("csi.sock");
      this.starter = List.copyOf(starter);
      arguments.add("--type=" + type.name().toLowerCase(Locale.ROOT));
      arguments.add("--controllerserver");
      arguments.add("--credentials=" + TestDriver.credentialsFolder(cluster, folder, user));
      arguments.add("--endpoint=unix://" + socket);
      arguments.add("--clusters-file=" + TestDriver.clustersFile(cluster, folder));
      arguments.addAll(List.of(options));
      this.channel = channels.open(socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts a process; it may not serve yet. */
  public ServedProcess start() {
    return ServedProcess.startBy(starter, folder, arguments.toArray(String[]::new));
  }

  /** Waits until a process is ready. */
  public ControllerBlockingStub controller(ServedProcess process) {
    return ControllerGrpc.newBlockingStub(process.awaitReady(socket));
  }

  /** Waits until a process is ready, and says nothing of it. */
  public void awaitReady(ServedProcess process) {
    process.awaitReady(socket).shutdownNow();
  }

  /** A channel to whichever process serves the socket. */
  public ManagedChannel channel() {
    return channel;
  }

  /** The file in which the process that runs has its clients. */
  public Path clientsFile() {
    return folder.resolve("csi.sock.clients");
  }

  @Override
  public void close() {
    channel.shutdownNow();
    channels.close();
  }
}
