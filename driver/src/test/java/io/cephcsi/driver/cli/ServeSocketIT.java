package io.cephcsi.driver.cli;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeResponse;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The sockets of the program, and its end: by a signal, and when it is killed. */
class ServeSocketIT extends ServedCase {
  @Test
  void aFileThatIsNoSocketIsLeftAlone() throws IOException {
    Files.writeString(socket, "precious");
    assertExit(1, socket + " exists and is not a socket", "--type=rbd", "--endpoint=" + socket);
    assertThat(socket).hasContent("precious");

    Path fifo = folder.resolve("fifo");
    Commands.run(List.of("mkfifo", fifo.toString()));
    assertExit(1, fifo + " exists and is not a socket", "--type=rbd", "--endpoint=" + fifo);
    assertThat(fifo).exists();

    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("nowhere"));
    assertExit(1, link + " exists and is not a socket", "--type=rbd", "--endpoint=" + link);
    assertThat(Files.isSymbolicLink(link)).isTrue();

    assertExit(1, folder.toString(), "--type=rbd", "--endpoint=" + folder);
  }

  @Test
  void aPathThatCannotBeUsedIsExitCode1WithAClearLine() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    assertExit(1, file.toString(), "--type=rbd", "--endpoint=" + file.resolve("csi.sock"));
    String longName = "s".repeat(120);
    assertExit(1, "longer than 107", "--type=rbd", "--endpoint=" + folder.resolve(longName));
  }

  @Test
  void aStaleSocketIsReplacedAndAFolderIsMadeAndMayBeALink() throws IOException {
    try (ServerSocketChannel stale = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      stale.bind(UnixDomainSocketAddress.of(socket));
    }
    assertThat(socket).exists();
    ServedProcess process = startRbd();
    createAndDelete(process.awaitReady(socket));

    Path real = Files.createDirectory(folder.resolve("real"));
    Path link = Files.createSymbolicLink(folder.resolve("run"), real);
    ServedProcess linked = start("--type=rbd", "--endpoint=unix://" + link.resolve("csi.sock"));
    linked.awaitServing(link.resolve("csi.sock"));
    assertThat(Files.exists(real.resolve("csi.sock"), LinkOption.NOFOLLOW_LINKS)).isTrue();

    Path deep = folder.resolve("a/b/csi.sock");
    start("--type=rbd", "--endpoint=unix://" + deep).awaitServing(deep);
  }

  @Test
  void aSecondProcessOnTheSameSocketIsRefusedAndTheFirstGoesOn() throws IOException {
    ServedProcess first = startRbd();
    ManagedChannel channel = first.awaitReady(socket);
    assertExit(1, "another process serves " + socket, "--type=rbd", "--endpoint=" + socket);
    assertThat(first.isAlive()).isTrue();
    createAndDelete(channel);
    createAndDelete(first.channel(socket));
  }

  /** A process that is stopped takes no connections, and its queue is full some time. */
  @Test
  void aSocketWhoseProcessTakesNoConnectionsIsServedByIt() throws IOException {
    List<SocketChannel> waiting = new ArrayList<>();
    try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listening.bind(UnixDomainSocketAddress.of(socket), 1);
      boolean taken = true;
      while (taken) {
        SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
        waiting.add(client);
        client.configureBlocking(false);
        try {
          taken = client.connect(UnixDomainSocketAddress.of(socket));
        } catch (SocketException e) {
          taken = false; // the queue is full
        }
      }
      assertThat(waiting).hasSizeGreaterThan(1);
      assertExit(1, "another process serves " + socket, "--type=rbd", "--endpoint=" + socket);
    } finally {
      for (SocketChannel client : waiting) {
        client.close();
      }
    }
    assertThat(socket).exists();
  }

  // The end

  @Test
  void onSigtermARunningCallEndsAndNewOnesAreRefused() throws Exception {
    assumeTrue(TestCluster.canControl(), "needs a cluster that can be frozen");
    LocalCluster cluster = (LocalCluster) CLUSTER;
    int port = freePort();
    ServedProcess process = startRbd("--metricsport=" + port);
    ManagedChannel channel = process.awaitReady(socket);
    createAndDelete(channel); // connects
    CompletableFuture<String> made = new CompletableFuture<>();
    cluster.pause();
    try {
      ControllerGrpc.newStub(channel)
          .createVolume(
              createRequest(),
              new StreamObserver<>() {
                @Override
                public void onNext(CreateVolumeResponse response) {
                  made.complete(response.getVolume().getVolumeId());
                }

                @Override
                public void onError(Throwable failure) {
                  made.completeExceptionally(failure);
                }

                @Override
                public void onCompleted() {}
              });
      Awaitility.await()
          .until(() -> ServedProcess.metrics(port).contains("ceph_csi_running_operations 1.0"));
      process.terminate();
      Awaitility.await()
          .untilAsserted(
              () -> assertStatus(Code.UNAVAILABLE, () -> nameOf(process.channel(socket))));
      Awaitility.await() // it is told a moment later
          .untilAsserted(() -> assertStatus(Code.UNAVAILABLE, () -> nameOf(channel)));
      assertThat(process.isAlive()).isTrue();
      assertThat(made).isNotDone();
    } finally {
      cluster.resume();
    }
    String id = made.get(30, TimeUnit.SECONDS);
    assertThat(process.awaitExit(SOON)).as(process.output()).isZero();
    assertThat(process.output()).contains("stopped");
    assertThat(socket).doesNotExist();

    ServedProcess next = startRbd();
    delete(next.awaitReady(socket), id);
  }

  @Test
  void anIdleProcessEndsAtOnceWithCode0() throws IOException {
    ServedProcess process = startRbd();
    createAndDelete(process.awaitReady(socket));
    process.terminate();
    assertThat(process.awaitExit(Duration.ofSeconds(10))).as(process.output()).isZero();
    assertThat(socket).doesNotExist();
  }

  @Test
  void afterKillARestartServesAgain() throws IOException {
    ServedProcess process = startRbd();
    ManagedChannel channel = process.awaitReady(socket);
    CreateVolumeRequest request = createRequest();
    String id =
        ControllerGrpc.newBlockingStub(channel).createVolume(request).getVolume().getVolumeId();
    process.kill();
    assertThat(socket).exists();
    ManagedChannel next = startRbd().awaitReady(socket);
    assertThat(ControllerGrpc.newBlockingStub(next).createVolume(request).getVolume().getVolumeId())
        .isEqualTo(id);
    delete(next, id);
  }
}
