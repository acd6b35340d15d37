package io.cephcsi.benchmarks;

import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How long do a driver's calls take, and how much CPU of the driver? Drives any CSI driver that
 * serves RBD on a socket, this one or another, and prints a line for each call.
 */
public final class RpcLoad {
  private static final long BYTES = 64L << 20;
  private static final long QUIET_MILLIS = 2000;
  private static final long SETTLE_SECONDS = 120;
  private static final int WARM_CALLS = 60; // of each kind: a driver runs for weeks

  private final ControllerBlockingStub controller;
  private final Map<String, String> parameters;
  private final Map<String, String> secrets;
  private final long driverPid;
  private final int clients;
  private final int rounds;

  private RpcLoad(
      ControllerBlockingStub controller,
      Map<String, String> parameters,
      Map<String, String> secrets,
      long driverPid,
      int clients,
      int rounds) {
    this.controller = controller;
    this.parameters = parameters;
    this.secrets = secrets;
    this.driverPid = driverPid;
    this.clients = clients;
    this.rounds = rounds;
  }

  /** Arguments: socket, pid of the driver, clusterID, pool, user, keyring file, clients, rounds. */
  public static void main(String[] args) throws Exception {
    if (args.length != 8) {
      System.err.println(
          "usage: RpcLoad SOCKET DRIVER_PID CLUSTER_ID POOL USER KEYRING_FILE CLIENTS ROUNDS");
      System.exit(2);
    }
    Map<String, String> parameters =
        Map.of("clusterID", args[2], "pool", args[3], "imageFeatures", FEATURES);
    Map<String, String> secrets = Map.of("userID", args[4], "userKey", key(Path.of(args[5])));
    try (SocketChannels channels = new SocketChannels()) {
      ManagedChannel channel = channels.open(Path.of(args[0]));
      new RpcLoad(
              ControllerGrpc.newBlockingStub(channel),
              parameters,
              secrets,
              Long.parseLong(args[1]),
              Integer.parseInt(args[6]),
              Integer.parseInt(args[7]))
          .run();
      channel.shutdownNow();
    }
  }

  private static final String FEATURES =
      "layering,exclusive-lock,object-map,fast-diff,deep-flatten";

  private static String key(Path keyring) throws IOException {
    return Files.readAllLines(keyring).stream()
        .map(String::strip)
        .filter(line -> line.startsWith("key"))
        .map(line -> line.substring(line.indexOf('=') + 1).strip())
        .findFirst()
        .orElseThrow(() -> new IOException("no key in " + keyring));
  }

  private void run() throws Exception {
    measure(Math.max(2, WARM_CALLS / clients), new LinkedHashMap<>());
    settle(); // what the deleted volumes left to do is not part of the next call
    Map<String, Sample> samples = new LinkedHashMap<>();
    measure(rounds, samples);
    System.out.printf(
        "%-34s %10s %10s %14s%n",
        "call, " + clients + " clients", "median ms", "p99 ms", "CPU ms/call");
    samples.forEach(
        (call, sample) ->
            System.out.printf(
                Locale.ROOT,
                "%-34s %10.1f %10.1f %14.1f%n",
                call,
                sample.percentile(50),
                sample.percentile(99),
                sample.cpuMillis / sample.millis.length));
    System.out.printf(
        Locale.ROOT,
        "%-34s %10s %10s %14.1f%n",
        "afterwards, for each volume",
        "",
        "",
        settle() / (rounds * clients));
  }

  /**
   * Waits until the driver does nothing any more, as an image in the trash is removed later.
   *
   * @return the milliseconds of CPU that it took until then
   */
  private double settle() throws IOException, InterruptedException {
    long first = ProcessCpu.ticks(driverPid);
    long before;
    long now = first;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SETTLE_SECONDS);
    do {
      before = now;
      Thread.sleep(QUIET_MILLIS);
      now = ProcessCpu.ticks(driverPid);
    } while (now - before > 1 && System.nanoTime() < end);
    return (now - first) * ProcessCpu.MILLIS_PER_TICK;
  }

  private void measure(int count, Map<String, Sample> samples) throws Exception {
    String run = UUID.randomUUID().toString();
    int all = count * clients;
    List<Volume> volumes =
        step(samples, "CreateVolume", all, i -> () -> create(run + "-v-" + i, null));
    List<Volume> again =
        step(
            samples, "CreateVolume, the same again", all, i -> () -> create(run + "-v-" + i, null));
    if (!again.equals(volumes)) {
      throw new IllegalStateException("the same call gave other volumes");
    }
    List<Snapshot> snapshots =
        step(
            samples,
            "CreateSnapshot",
            all,
            i -> () -> snapshot(volumes.get(i).getVolumeId(), run + "-s-" + i));
    List<Volume> clones =
        step(
            samples,
            "CreateVolume from snapshot",
            all,
            i -> () -> create(run + "-c-" + i, snapshots.get(i).getSnapshotId()));
    step(samples, "DeleteVolume (clone)", all, i -> () -> delete(clones.get(i).getVolumeId()));
    step(
        samples,
        "DeleteSnapshot",
        all,
        i -> () -> deleteSnapshot(snapshots.get(i).getSnapshotId()));
    step(samples, "DeleteVolume", all, i -> () -> delete(volumes.get(i).getVolumeId()));
  }

  private <T> List<T> step(
      Map<String, Sample> samples, String name, int count, Numbered<Supplier<T>> calls)
      throws InterruptedException, ExecutionException, IOException {
    ExecutorService pool = Executors.newFixedThreadPool(clients);
    double[] millis = new double[count];
    long ticks = ProcessCpu.ticks(driverPid);
    List<Future<T>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int number = i;
      Supplier<T> call = calls.of(i);
      futures.add(
          pool.submit(
              () -> {
                long start = System.nanoTime();
                T result = retried(call);
                millis[number] = (System.nanoTime() - start) / 1e6;
                return result;
              }));
    }
    List<T> results = new ArrayList<>();
    for (Future<T> future : futures) {
      results.add(future.get());
    }
    pool.shutdown();
    samples.put(
        name,
        new Sample(millis, (ProcessCpu.ticks(driverPid) - ticks) * ProcessCpu.MILLIS_PER_TICK));
    return Collections.unmodifiableList(results);
  }

  /** ABORTED is an answer that a CO repeats; all others are failures. */
  private static <T> T retried(Supplier<T> call) {
    while (true) {
      try {
        return call.get();
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() != Status.Code.ABORTED) {
          throw e;
        }
      }
    }
  }

  private Volume create(String name, @Nullable String snapshotId) {
    CreateVolumeRequest.Builder request =
        CreateVolumeRequest.newBuilder()
            .setName(name)
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(BYTES))
            .addVolumeCapabilities(
                VolumeCapability.newBuilder()
                    .setMount(VolumeCapability.MountVolume.newBuilder().setFsType("ext4"))
                    .setAccessMode(
                        VolumeCapability.AccessMode.newBuilder()
                            .setMode(VolumeCapability.AccessMode.Mode.SINGLE_NODE_WRITER)))
            .putAllParameters(parameters)
            .putAllSecrets(secrets);
    if (snapshotId != null) {
      request.setVolumeContentSource(
          VolumeContentSource.newBuilder()
              .setSnapshot(
                  VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(snapshotId)));
    }
    return controller.createVolume(request.build()).getVolume();
  }

  private Snapshot snapshot(String volumeId, String name) {
    return controller
        .createSnapshot(
            CreateSnapshotRequest.newBuilder()
                .setSourceVolumeId(volumeId)
                .setName(name)
                .putAllParameters(Map.of("clusterID", parameters.getOrDefault("clusterID", "")))
                .putAllSecrets(secrets)
                .build())
        .getSnapshot();
  }

  private boolean delete(String volumeId) {
    return controller
        .deleteVolume(
            DeleteVolumeRequest.newBuilder().setVolumeId(volumeId).putAllSecrets(secrets).build())
        .isInitialized();
  }

  private boolean deleteSnapshot(String snapshotId) {
    return controller
        .deleteSnapshot(
            DeleteSnapshotRequest.newBuilder()
                .setSnapshotId(snapshotId)
                .putAllSecrets(secrets)
                .build())
        .isInitialized();
  }

  /** Makes something for a number. */
  private interface Numbered<T> {
    T of(int number);
  }

  /** What one kind of call took. */
  private static final class Sample {
    private final double[] millis;
    private final double cpuMillis;

    Sample(double[] millis, double cpuMillis) {
      this.millis = millis.clone();
      this.cpuMillis = cpuMillis;
      Arrays.sort(this.millis);
    }

    double percentile(int percent) {
      return millis[Math.min(millis.length - 1, millis.length * percent / 100)];
    }
  }
}
