package io.cephcsi.benchmarks;

import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc.ReclaimSpaceControllerBlockingStub;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** How long do calls through the driver's socket take, its start, and how much memory has it? */
final class RpcQuestion implements Question {
  private static final int CLIENTS = 8;
  private static final double START_LIMIT = 1000; // ms
  private static final double FIRST_CALL_LIMIT = 300; // ms
  private static final double MEMORY_LIMIT = 160e6; // bytes

  @Override
  public List<Finding> ask(BenchSetup setup) throws Exception {
    List<Finding> findings = new ArrayList<>();
    findings.addAll(starts(setup));
    findings.add(startsOfBoth(setup));
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try {
      findings.addAll(calls(setup, driver));
      int volumes = setup.scaled(1000, 160);
      many(ControllerCalls.rbd(driver), volumes);
      many(ControllerCalls.cephFs(driver), volumes);
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

  /** Also the first calls of each process, which connect to the cluster and load classes. */
  private static List<Finding> starts(BenchSetup setup) throws IOException, InterruptedException {
    double[] starts = new double[setup.scaled(11, 7)];
    double[] infos = new double[starts.length];
    double[] creations = new double[starts.length];
    double[] deletions = new double[starts.length];
    for (int i = -2; i < starts.length; i++) {
      int round = Math.max(i, 0);
      DriverState driver = new DriverState();
      starts[round] = driver.start(setup.conf(), false);
      ControllerCalls controller = ControllerCalls.rbd(driver);
      infos[round] = 1e3 * setup.seconds(() -> pluginInfo(driver.channel));
      long begin = System.nanoTime();
      String volume = controller.create("bench-" + UUID.randomUUID(), "");
      creations[round] = (System.nanoTime() - begin) / 1e6;
      deletions[round] = 1e3 * setup.seconds(() -> controller.delete(volume));
      driver.stop();
    }
    return List.of(
        Finding.time("start", "from process start to the first answer", "ms", starts)
            .withinItself(START_LIMIT),
        Finding.time("first-info", "the first GetPluginInfo", "ms", infos)
            .withinItself(FIRST_CALL_LIMIT),
        Finding.time("first-create", "the first CreateVolume", "ms", creations)
            .withinItself(FIRST_CALL_LIMIT),
        Finding.time("first-delete", "the first DeleteVolume", "ms", deletions)
            .withinItself(FIRST_CALL_LIMIT));
  }

  private static Finding startsOfBoth(BenchSetup setup) throws IOException, InterruptedException {
    double[] millis = new double[setup.scaled(11, 7)];
    for (int i = -2; i < millis.length; i++) {
      DriverState driver = new DriverState();
      millis[Math.max(i, 0)] = driver.start(setup.conf(), true);
      driver.stop();
    }
    return Finding.time(
            "start-both", "the start of a process that serves RBD and CephFS", "ms", millis)
        .withinItself(START_LIMIT);
  }

  private static void pluginInfo(ManagedChannel channel) {
    require(
        IdentityGrpc.newBlockingStub(channel)
            .getPluginInfo(GetPluginInfoRequest.getDefaultInstance())
            .isInitialized());
  }

  private static List<Finding> calls(BenchSetup setup, DriverState driver)
      throws IOException, InterruptedException {
    ControllerCalls controller = ControllerCalls.rbd(driver);
    ReclaimSpaceControllerBlockingStub reclaim =
        ReclaimSpaceControllerGrpc.newBlockingStub(driver.channel);
    String known = "bench-" + UUID.randomUUID();
    String volume = controller.create(known, "");
    int rounds = setup.scaled(200, 60);
    List<Finding> findings =
        List.of(
            timed(
                setup,
                "rpc-info",
                "GetPluginInfo: the socket alone",
                rounds,
                () -> pluginInfo(driver.channel)),
            timed(
                setup,
                "rpc-again",
                "CreateVolume of a known name",
                rounds,
                () -> {
                  require(controller.create(known, "").equals(volume));
                }),
            timed(
                setup,
                "rpc-create-delete",
                "CreateVolume and DeleteVolume",
                rounds,
                () -> {
                  controller.delete(controller.create("bench-" + UUID.randomUUID(), ""));
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
    controller.delete(volume);
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
  private static void many(ControllerCalls controller, int volumes)
      throws ExecutionException, InterruptedException {
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try {
      List<Future<String>> made = new ArrayList<>();
      for (int i = 0; i < volumes; i++) {
        made.add(clients.submit(() -> controller.create("bench-" + UUID.randomUUID(), "")));
      }
      List<Future<?>> deleted = new ArrayList<>();
      for (Future<String> volume : made) {
        String id = volume.get();
        deleted.add(clients.submit(() -> controller.delete(id)));
      }
      for (Future<?> deletion : deleted) {
        deletion.get();
      }
    } finally {
      clients.shutdown();
    }
  }

  private static void require(boolean answered) {
    if (!answered) {
      throw new IllegalStateException("not the answer that was expected");
    }
  }
}
