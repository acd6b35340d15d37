package io.cephcsi.benchmarks;

import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc.ReclaimSpaceControllerBlockingStub;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoResponse;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.IdentityGrpc.IdentityBlockingStub;
import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** How long does a call through the driver's socket take? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 3)
@Measurement(iterations = 5, time = 3)
@SuppressWarnings("NullAway.Init") // JMH calls prepare first
public class RpcBenchmark {
  private final DriverState driver = new DriverState();
  private IdentityBlockingStub identity;
  private ControllerCalls controller;
  private ReclaimSpaceControllerBlockingStub reclaim;
  private final String known = "known-" + UUID.randomUUID();
  private String volume;

  /** Makes a volume that has nothing to reclaim. */
  @Setup(Level.Trial)
  public void prepare() throws IOException, InterruptedException {
    driver.start();
    identity = IdentityGrpc.newBlockingStub(driver.channel);
    controller = ControllerCalls.rbd(driver);
    reclaim = ReclaimSpaceControllerGrpc.newBlockingStub(driver.channel);
    volume = controller.create(known, "");
  }

  /** Deletes it. */
  @TearDown(Level.Trial)
  public void remove() throws IOException, InterruptedException {
    controller.delete(volume);
    driver.stop();
  }

  /** A call that does not ask the cluster: the socket, gRPC and the log. */
  @Benchmark
  public GetPluginInfoResponse getPluginInfo() {
    return identity.getPluginInfo(GetPluginInfoRequest.getDefaultInstance());
  }

  /** CreateVolume of a name that has its volume. */
  @Benchmark
  public String createAgain() {
    return controller.create(known, "");
  }

  /** CreateVolume of a new name, and DeleteVolume: both together. */
  @Benchmark
  public void createAndDelete() {
    controller.delete(controller.create("new-" + UUID.randomUUID(), ""));
  }

  /** ControllerReclaimSpace of a volume that was never written. */
  @Benchmark
  public ControllerReclaimSpaceResponse reclaimNothing() {
    return reclaim.controllerReclaimSpace(
        ControllerReclaimSpaceRequest.newBuilder()
            .setVolumeId(volume)
            .putAllSecrets(driver.secrets)
            .build());
  }
}
