package io.cephcsi.benchmarks;

import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc.ReclaimSpaceControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.IdentityGrpc.IdentityBlockingStub;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** How long do calls through the driver's socket take, its start, and how much memory has it? */
final class RpcQuestion implements Question {
  private static final long BYTES = 64L << 20;
  private static final int CLIENTS = 8;
  private static final double START_LIMIT = 400; // ms
  private static final double MEMORY_LIMIT = 160e6; // bytes

  @Override
  public List<Finding> ask(BenchSetup setup) throws Exception {
    List<Finding> findings = new ArrayList<>();
    findings.add(
        starts(setup, false, "start", "from process start to the first answer")
            .withinItself(START_LIMIT));
    findings.add(
        starts(setup, true, "start-both", "the same, of a process that serves RBD and CephFS"));
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try {
      findings.addAll(calls(setup, driver));
      int volumes = setup.scaled(1000, 160);
      many(driver.channel, driver.parameters, driver.secrets, volumes);
      many(driver.cephFs, driver.cephFsParameters, driver.secrets, volumes);
      findings.add(
          Finding.time(
                  "memory",
                  "most memory of one process after " + volumes + " volumes of RBD and of CephFS",
                  "bytes",
                  (double) driver.peakMemory())
              .withinItself(MEMORY_LIMIT));
    } finally {
      driver.stop();
    }
    return findings;
  }

  private static Finding starts(BenchSetup setup, boolean cephFsToo, String id, String title)
      throws IOException, InterruptedException {
    double[] millis = new double[setup.scaled(11, 7)];
    for (int i = -2; i < millis.length; i++) {
      DriverState driver = new DriverState();
      millis[Math.max(i, 0)] = driver.start(setup.conf(), cephFsToo);
      driver.stop();
    }
    return Finding.time(id, title, "ms", millis);
  }

  private static List<Finding> calls(BenchSetup setup, DriverState driver)
      throws IOException, InterruptedException {
    IdentityBlockingStub identity = IdentityGrpc.newBlockingStub(driver.channel);
    ControllerBlockingStub controller = ControllerGrpc.newBlockingStub(driver.channel);
    ReclaimSpaceControllerBlockingStub reclaim =
        ReclaimSpaceControllerGrpc.newBlockingStub(driver.channel);
    String known = "bench-" + UUID.randomUUID();
    String volume = create(controller, driver.parameters, driver.secrets, known);
    int rounds = setup.scaled(200, 60);
    List<Finding> findings =
        List.of(
            timed(
                setup,
                "rpc-info",
                "GetPluginInfo: the socket alone",
                rounds,
                () -> {
                  require(
                      identity
                          .getPluginInfo(GetPluginInfoRequest.getDefaultInstance())
                          .isInitialized());
                }),
            timed(
                setup,
                "rpc-again",
                "CreateVolume of a known name",
                rounds,
                () -> {
                  require(
                      create(controller, driver.parameters, driver.secrets, known).equals(volume));
                }),
            timed(
                setup,
                "rpc-create-delete",
                "CreateVolume and DeleteVolume",
                rounds,
                () -> {
                  delete(
                      controller,
                      driver.secrets,
                      create(
                          controller,
                          driver.parameters,
                          driver.secrets,
                          "bench-" + UUID.randomUUID()));
                }),
            timed(
                setup,
                "rpc-reclaim",
                "ControllerReclaimSpace with nothing to do",
                rounds / 4,
                () -> {
                  require(
                      reclaim
                          .controllerReclaimSpace(
                              ControllerReclaimSpaceRequest.newBuilder()
                                  .setVolumeId(volume)
                                  .putAllSecrets(driver.secrets)
                                  .build())
                          .isInitialized());
                }));
    delete(controller, driver.secrets, volume);
    return findings;
  }

  private static Finding timed(
      BenchSetup setup, String id, String title, int rounds, Baseline.Work call)
      throws IOException, InterruptedException {
    double[] millis = new double[rounds];
    for (int i = -rounds; i < rounds; i++) {
      millis[Math.max(i, 0)] = 1e3 * setup.seconds(call);
    }
    return Finding.time(id, title, "ms", millis);
  }

  /** Makes and deletes volumes, by 8 clients. */
  private static void many(
      ManagedChannel channel,
      Map<String, String> parameters,
      Map<String, String> secrets,
      int volumes)
      throws ExecutionException, InterruptedException {
    ControllerBlockingStub controller = ControllerGrpc.newBlockingStub(channel);
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try {
      List<Future<String>> made = new ArrayList<>();
      for (int i = 0; i < volumes; i++) {
        made.add(
            clients.submit(
                () -> create(controller, parameters, secrets, "bench-" + UUID.randomUUID())));
      }
      List<Future<?>> deleted = new ArrayList<>();
      for (Future<String> volume : made) {
        String id = volume.get();
        deleted.add(clients.submit(() -> delete(controller, secrets, id)));
      }
      for (Future<?> deletion : deleted) {
        deletion.get();
      }
    } finally {
      clients.shutdown();
    }
  }

  private static String create(
      ControllerBlockingStub controller,
      Map<String, String> parameters,
      Map<String, String> secrets,
      String name) {
    return controller
        .createVolume(
            CreateVolumeRequest.newBuilder()
                .setName(name)
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(BYTES))
                .addVolumeCapabilities(
                    VolumeCapability.newBuilder()
                        .setMount(VolumeCapability.MountVolume.getDefaultInstance())
                        .setAccessMode(
                            VolumeCapability.AccessMode.newBuilder()
                                .setMode(VolumeCapability.AccessMode.Mode.SINGLE_NODE_WRITER)))
                .putAllParameters(parameters)
                .putAllSecrets(secrets)
                .build())
        .getVolume()
        .getVolumeId();
  }

  private static void delete(
      ControllerBlockingStub controller, Map<String, String> secrets, String id) {
    require(
        controller
            .deleteVolume(
                DeleteVolumeRequest.newBuilder().setVolumeId(id).putAllSecrets(secrets).build())
            .isInitialized());
  }

  private static void require(boolean answered) {
    if (!answered) {
      throw new IllegalStateException("not the answer that was expected");
    }
  }
}
