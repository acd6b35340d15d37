package io.cephcsi.driver.cli;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What no client may do to a driver with the memory that it is delivered with. */
class HostileRequestsIT {
  private static final String KEY = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";
  private static final Marshaller<byte[]> BYTES =
      new Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        }
      };
  private static final MethodDescriptor<byte[], byte[]> CREATE =
      MethodDescriptor.newBuilder(BYTES, BYTES)
          .setType(MethodType.UNARY)
          .setFullMethodName("csi.v1.Controller/CreateVolume")
          .build();

  @TempDir private static Path folder;
  private static Path socket;
  private static int metricsPort;
  private static ServedProcess process;
  private static ManagedChannel channel;

  @BeforeAll
  static void start() throws IOException {
    socket = folder.resolve("csi.sock");
    try (ServerSocket any = new ServerSocket(0)) {
      metricsPort = any.getLocalPort();
    }
    process =
        ServedProcess.start(
            folder,
            "--type=rbd",
            "--nodeid=node-1",
            "--controllerserver=true",
            "-v=5",
            "--endpoint=unix://" + socket,
            "--metricsport=" + metricsPort,
            "--clusters-file=" + Files.writeString(folder.resolve("config.json"), "[]"));
    channel = process.awaitServing(socket);
  }

  @AfterAll
  static void stop() {
    process.close();
  }

  @AfterEach
  void theDriverAnswers() {
    assertThat(process.isAlive()).as(process.output()).isTrue();
    assertThat(
            IdentityGrpc.newBlockingStub(channel)
                .withDeadlineAfter(2, TimeUnit.SECONDS)
                .probe(ProbeRequest.getDefaultInstance())
                .hasReady())
        .isTrue();
  }

  private static CreateVolumeRequest withTopologies(int count) {
    Topology topology = Topology.newBuilder().putSegments("z", "1").build();
    TopologyRequirement.Builder all = TopologyRequirement.newBuilder();
    for (int i = 0; i < count; i++) {
      all.addRequisite(topology);
    }
    return request().setAccessibilityRequirements(all).build();
  }

  private static CreateVolumeRequest.Builder request() {
    return CreateVolumeRequest.newBuilder()
        .setName("pvc-1")
        .addVolumeCapabilities(TestDriver.singleWriter())
        .putSecrets("userID", "admin")
        .putSecrets("userKey", KEY)
        .putParameters("clusterID", "nobody")
        .putParameters("pool", "rbd");
  }

  private static void create(CreateVolumeRequest request) {
    var unused =
        ControllerGrpc.newBlockingStub(channel)
            .withDeadlineAfter(30, TimeUnit.SECONDS)
            .createVolume(request);
  }

  private static void send(byte[] request) {
    var unused =
        ClientCalls.blockingUnaryCall(
            channel, CREATE, CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS), request);
  }

  @Test
  void aRequestOfManySmallPartsEndsItsCallOnly() {
    assertStatus(Code.RESOURCE_EXHAUSTED, () -> create(withTopologies(250_000)));
    assertStatus(Code.INVALID_ARGUMENT, "requisite", () -> create(withTopologies(25_000)));
    assertStatus(Code.INVALID_ARGUMENT, "nobody", () -> create(withTopologies(1000)));
  }

  @Test
  void aMalformedMessageIsTheCallersMistake() {
    assertStatus(Code.INVALID_ARGUMENT, () -> send(new byte[] {-1, -1, -1}));
    assertStatus(Code.INVALID_ARGUMENT, () -> send(new byte[] {0x0A, 2, (byte) 0xC3, 0x28}));
    assertStatus(Code.INVALID_ARGUMENT, () -> send(new byte[] {0x0A, 1, 0}));
  }

  @Test
  void manyLargeRequestsAtOnceAreRefused() throws Exception {
    byte[] large = new byte[1 << 20]; // the client holds all of them, too
    List<Future<byte[]>> calls = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      calls.add(
          ClientCalls.futureUnaryCall(
              channel.newCall(CREATE, CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS)),
              large));
    }
    theDriverAnswers();
    for (Future<byte[]> call : calls) {
      assertThat(codeOf(call)).isEqualTo(Code.RESOURCE_EXHAUSTED);
    }
  }

  /** What is received of a call is kept until its client ends it. */
  @Test
  void largeRequestsThatDoNotEndLeaveMemoryToOthers() {
    ManagedChannel other = process.channel(socket);
    byte[] large = new byte[(4 << 20) - 1024];
    List<Status> ended = new CopyOnWriteArrayList<>();
    List<ClientCall<byte[], byte[]>> calls = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      ClientCall<byte[], byte[]> call = other.newCall(CREATE, CallOptions.DEFAULT);
      int before = ended.size();
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              ended.add(status);
            }
          },
          new Metadata());
      call.sendMessage(large);
      calls.add(call);
      Awaitility.await()
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(5))
          .until(() -> call.isReady() || ended.size() > before);
    }
    theDriverAnswers();
    assertStatus(Code.INVALID_ARGUMENT, "nobody", () -> create(request().build()));
    assertThat(ended)
        .hasSizeGreaterThan(30)
        .extracting(Status::getCode)
        .containsOnly(Code.RESOURCE_EXHAUSTED);
    calls.forEach(call -> call.cancel("enough", null));
  }

  private static Code codeOf(Future<?> call) throws InterruptedException {
    try {
      call.get();
      return Code.OK;
    } catch (ExecutionException e) {
      return ((StatusRuntimeException) e.getCause()).getStatus().getCode();
    }
  }

  @Test
  void halfSentRequestsOnManyConnectionsTakeNobodysPlace() throws IOException {
    List<SocketChannel> connections = new ArrayList<>();
    try {
      for (int i = 0; i < 300; i++) {
        SocketChannel connection = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        connections.add(connection);
        try {
          connection.write(ByteBuffer.wrap(halfSent()));
        } catch (IOException closed) {
          assertThat(i).isGreaterThan(200); // there are enough connections
        }
      }
      theDriverAnswers();
      ManagedChannel other = connections.isEmpty() ? channel : process.channel(socket);
      closeAll(connections);
      assertThat(
              IdentityGrpc.newBlockingStub(other)
                  .withWaitForReady()
                  .withDeadlineAfter(10, TimeUnit.SECONDS)
                  .probe(ProbeRequest.getDefaultInstance())
                  .hasReady())
          .isTrue();
    } finally {
      closeAll(connections);
    }
  }

  private static void closeAll(List<SocketChannel> connections) throws IOException {
    for (SocketChannel connection : connections) {
      connection.close();
    }
  }

  /** HTTP/2 with three calls, each with the first 15 KiB of a request of 250 KiB. */
  private static byte[] halfSent() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII));
    frame(out, 4, 0, 0, new byte[0]);
    ByteArrayOutputStream headers = new ByteArrayOutputStream();
    for (String header :
        List.of(
            ":method POST",
            ":scheme http",
            ":path /csi.v1.Controller/CreateVolume",
            ":authority localhost",
            "te trailers",
            "content-type application/grpc")) {
      String[] parts = header.split(" ", -1);
      headers.write(0); // a literal that is not indexed
      for (String part : parts) {
        headers.write(part.length());
        headers.writeBytes(part.getBytes(US_ASCII));
      }
    }
    for (int stream = 1; stream <= 5; stream += 2) {
      frame(out, 1, 4, stream, headers.toByteArray());
      byte[] part = ByteBuffer.allocate(15 << 10).put((byte) 0).putInt(250 << 10).array();
      frame(out, 0, 0, stream, part);
    }
    return out.toByteArray();
  }

  private static void frame(ByteArrayOutputStream out, int type, int flags, int stream, byte[] b) {
    out.writeBytes(
        ByteBuffer.allocate(9)
            .put((byte) (b.length >> 16))
            .putShort((short) b.length)
            .put((byte) type)
            .put((byte) flags)
            .putInt(stream)
            .array());
    out.writeBytes(b);
  }

  @Test
  void aKeyInTheWrongFieldIsNotShown() {
    CreateVolumeRequest request = request().putParameters("clusterID", KEY).build();
    assertStatus(Code.INVALID_ARGUMENT, "***stripped***", () -> create(request));
    assertThat(process.output()).doesNotContain(KEY);
  }

  @Test
  void noTextOfARequestBeginsALineOfTheLog() {
    String forged = "x\n2026-01-02T03:04:05.000Z INFO  forged";
    assertStatus(
        Code.INVALID_ARGUMENT, () -> create(request().putParameters("clusterID", forged).build()));
    assertStatus(Code.INVALID_ARGUMENT, () -> create(request().putParameters(forged, "").build()));
    assertThat(process.output().lines())
        .noneMatch(line -> line.startsWith("2026-01-02T03:04:05.000Z"));
  }

  @Test
  void halfSentRequestsDoNotHoldUpTheMetrics() throws IOException {
    List<Socket> half = new ArrayList<>();
    try {
      for (int i = 0; i < 50; i++) {
        Socket connection = new Socket("localhost", metricsPort);
        half.add(connection);
        connection.getOutputStream().write("GET /metr".getBytes(US_ASCII));
      }
      long begin = System.nanoTime();
      assertThat(ServedProcess.metrics(metricsPort)).contains("ceph_csi_running_operations");
      assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin)).isLessThan(10);
    } finally {
      for (Socket connection : half) {
        connection.close();
      }
    }
  }
}
