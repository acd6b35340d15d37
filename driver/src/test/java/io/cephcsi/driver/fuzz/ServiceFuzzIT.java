package io.cephcsi.driver.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.grpc.MethodCatalog;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotResponse;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests that are nearly right, of every method, by four callers at once, to a driver that serves
 * controller and node on a real cluster. Whatever is in them, the driver answers in time and with a
 * code that says whose mistake it was, lives on, and touches nothing of others. Half a minute for
 * each kind of storage; {@code CEPH_CSI_TEST_FUZZ_SECONDS} for another time, {@code
 * CEPH_CSI_TEST_FUZZ_METHODS} for some methods only (a regular expression), and {@code
 * CEPH_CSI_TEST_CAMPAIGN=full} for 50,000 requests each.
 */
@EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_FUZZ_SECONDS", matches = "\\d+")
class ServiceFuzzIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int REQUESTS = FULL ? 50_000 : Integer.MAX_VALUE;
  private static final int SECONDS =
      Integer.parseInt(
          System.getenv().getOrDefault("CEPH_CSI_TEST_FUZZ_SECONDS", FULL ? "5400" : "30"));
  private static final long SEED =
      Long.parseLong(System.getenv().getOrDefault("CEPH_CSI_TEST_SEED", "0"));
  private static final String METHODS =
      System.getenv().getOrDefault("CEPH_CSI_TEST_FUZZ_METHODS", ".");
  private static final int CALLERS = 4;
  private static final long MOST_MEMORY = 600; // of the whole process, in MiB
  private static final String DELETE_VOLUME = "csi.v1.Controller/DeleteVolume";
  private static final String DELETE_SNAPSHOT = "csi.v1.Controller/DeleteSnapshot";
  private static final Set<String> OFTEN =
      Set.of("CreateVolume", "NodeStageVolume", "NodePublishVolume", "CreateSnapshot");
  private static final String MUST_NOT_BE_THERE = "/tmp/ceph-csi-fuzz-must-not-be-there";
  private static final Set<Status.Code> FAULTS =
      Set.of(
          Status.Code.INTERNAL,
          Status.Code.UNKNOWN,
          Status.Code.DATA_LOSS,
          Status.Code.UNAVAILABLE,
          Status.Code.DEADLINE_EXCEEDED);

  @TempDir(cleanup = CleanupMode.NEVER) // there may be mounts in it that a test has to show
  private Path folder;

  private final ConcurrentLinkedQueue<String> found = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Message> undo = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<Message> undoGroups = new ConcurrentLinkedQueue<>();
  private final AtomicInteger sent = new AtomicInteger();

  @Test
  void rbd() throws Exception {
    CLUSTER.rbd("create", "--size", "16M", CLUSTER.pool() + "/fuzz-valuable");
    ImageContent content = new ImageContent(CLUSTER);
    content.write(CLUSTER.pool() + "/fuzz-valuable", SEED);
    int before = content.checksum(CLUSTER.pool() + "/fuzz-valuable");
    PoolState pool = new PoolState(CLUSTER, CLUSTER.pool());
    Set<String> there = pool.everything();

    run(DriverConfig.Type.RBD, Map.of("pool", CLUSTER.pool()), () -> pool.left(there));

    assertThat(content.checksum(CLUSTER.pool() + "/fuzz-valuable")).isEqualTo(before);
    CLUSTER.rbd("rm", CLUSTER.pool() + "/fuzz-valuable", "--no-progress");
  }

  @Test
  void cephFs() throws Exception {
    String name = "fuzz-valuable-" + UUID.randomUUID();
    String[] subvolume = {CLUSTER.fileSystem(), name, "--group_name", "csi"};
    CLUSTER.ceph(command("create", subvolume));
    String path = CLUSTER.ceph(command("getpath", subvolume)).trim() + "/file";
    SubvolumeState files = new SubvolumeState(CLUSTER);
    files.write(path, "valuable");

    run(DriverConfig.Type.CEPHFS, Map.of("fsName", CLUSTER.fileSystem()), files::leftovers);

    assertThat(files.read(path)).isEqualTo("valuable");
    CLUSTER.ceph(command("rm", subvolume));
  }

  private static String[] command(String verb, String... more) {
    return Stream.concat(Stream.of("fs", "subvolume", verb), Stream.of(more))
        .toArray(String[]::new);
  }

  private void run(DriverConfig.Type type, Map<String, String> place, Supplier<Set<String>> left)
      throws Exception {
    System.err.println("fuzz: seed " + SEED + ", " + SECONDS + " s");
    List<Path> paths = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      paths.add(Files.createDirectories(folder.resolve("staging/" + i)));
      paths.add(folder.resolve("pods/" + i));
    }
    Path socket = folder.resolve("csi.sock");
    Map<String, String> secrets = TestDriver.secrets(CLUSTER, type);
    List<String> arguments =
        List.of(
            "--type=" + (type == DriverConfig.Type.RBD ? "rbd" : "cephfs"),
            "--nodeid=fuzz-node",
            "--instanceid=fuzz-" + UUID.randomUUID(),
            "--endpoint=unix://" + socket,
            "--node-folder=" + folder.resolve("node"),
            "--credentials=" + credentials(secrets),
            "--operation-timeout=20",
            "-v=4",
            "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder));
    ForeignFiles foreign = new ForeignFiles(folder.resolve("foreign"));
    try (FuzzedDriver driver = new FuzzedDriver(folder, socket, arguments);
        NodeClient node = new NodeClient(driver.channel(), secrets, folder)) {
      paths.addAll(foreign.paths());
      Stream.of("/", "/proc/1/ns", "/proc/self/fd", "/sys", "/dev/null", "relative/path")
          .map(Path::of)
          .forEach(paths::add);
      Map<String, String> parameters =
          Stream.concat(
                  Stream.of(Map.entry("clusterID", TestDriver.CLUSTER_ID)),
                  place.entrySet().stream())
              .collect(java.util.stream.Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
      Known known = new Known(secrets, parameters, paths);
      fuzz(driver, known);
      System.err.println("fuzz: " + sent.get() + " requests, " + found.size() + " findings");
      assertThat(driver.isAlive()).as("the driver lives").isTrue();
      cleanUp(driver, known);
      assertThat(driver.mostMemory()).as("MiB of memory").isLessThan(MOST_MEMORY);
      assertThat(found).as("findings, seed " + SEED).isEmpty();
      assertThat(foreign.changed()).isEmpty();
      assertThat(node.leftovers().stream().filter(one -> !one.contains("foreign/mount"))).isEmpty();
      assertThat(Path.of(MUST_NOT_BE_THERE)).doesNotExist();
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .pollInterval(Duration.ofSeconds(1))
          .untilAsserted(() -> assertThat(left.get()).isEmpty());
      assertThat(driver.output())
          .doesNotContain("\u001b")
          .doesNotContain(known.secrets().get("userKey"));
    }
  }

  private Path credentials(Map<String, String> secrets) throws IOException {
    Path place = Files.createDirectories(folder.resolve("credentials/" + TestDriver.CLUSTER_ID));
    Files.writeString(place.resolve("userID"), secrets.get("userID"));
    Files.writeString(place.resolve("userKey"), secrets.get("userKey"));
    return place.getParent();
  }

  private void fuzz(FuzzedDriver driver, Known known) throws InterruptedException {
    List<MethodDescriptor> methods =
        MethodCatalog.names().stream()
            .filter(Pattern.compile(METHODS).asPredicate())
            .map(MethodCatalog::find)
            .toList();
    ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    IntStream.range(0, CALLERS)
        .forEach(
            caller ->
                callers.execute(
                    () -> {
                      Random random = new Random(SEED * CALLERS + caller);
                      while (System.nanoTime() < end
                          && sent.incrementAndGet() <= REQUESTS
                          && found.size() < 20
                          && driver.isAlive()) {
                        step(driver, known, methods, random);
                      }
                    }));
    callers.shutdown();
    assertThat(callers.awaitTermination(SECONDS + 2L * FuzzedDriver.HANG, TimeUnit.SECONDS))
        .as("the callers end")
        .isTrue();
  }

  private void step(
      FuzzedDriver driver, Known known, List<MethodDescriptor> methods, Random random) {
    MethodDescriptor method = methods.get(random.nextInt(methods.size()));
    for (int i = 0; i < 3 && !OFTEN.contains(method.getName()); i++) {
      method = methods.get(random.nextInt(methods.size()));
    }
    Message request = new RequestMaker(known, random).request(method.getInputType());
    long begun = System.nanoTime();
    FuzzedDriver.Outcome outcome = driver.call(method, request);
    Status status = outcome.status();
    if (FAULTS.contains(status.getCode())) {
      String shown = request.toString();
      found.add(
          "%s %s %s after %d ms%n%s"
              .formatted(
                  method.getName(),
                  status.getCode(),
                  status.getDescription(),
                  TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun),
                  shown.substring(0, Math.min(1500, shown.length()))));
    }
    if (status.isOk()) {
      remember(method.getName(), request, outcome.answers(), known);
    }
    if (known.isFull()) {
      thinOut(driver, known);
    }
    if (random.nextInt(60) == 0) {
      lists(driver, known);
    }
  }

  private void remember(String method, Message request, List<Message> answers, Known known) {
    switch (method) {
      case "CreateVolume" -> known.volume(FuzzedDriver.text(answers.get(0), "volume.volume_id"));
      case "CreateSnapshot" ->
          known.snapshot(FuzzedDriver.text(answers.get(0), "snapshot.snapshot_id"));
      case "CreateVolumeGroup" -> {
        String id = FuzzedDriver.text(answers.get(0), "volume_group.volume_group_id");
        known.group(id);
        undoGroups.add(
            DeleteVolumeGroupRequest.newBuilder()
                .setVolumeGroupId(id)
                .putAllSecrets(known.secrets())
                .build());
      }
      case "CreateVolumeGroupSnapshot" -> {
        VolumeGroupSnapshot made = groupSnapshot(answers.get(0));
        known.group(made.getGroupSnapshotId());
        undoGroups.add(
            DeleteVolumeGroupSnapshotRequest.newBuilder()
                .setGroupSnapshotId(made.getGroupSnapshotId())
                .addAllSnapshotIds(
                    made.getSnapshotsList().stream().map(Snapshot::getSnapshotId).toList())
                .putAllSecrets(known.secrets())
                .build());
      }
      case "NodeStageVolume", "NodePublishVolume" -> undo.add(request);
      default -> {}
    }
  }

  private static VolumeGroupSnapshot groupSnapshot(Message answer) {
    try {
      return CreateVolumeGroupSnapshotResponse.parseFrom(answer.toByteString()).getGroupSnapshot();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Lists work, whatever was asked before. */
  private void lists(FuzzedDriver driver, Known known) {
    var controller =
        ControllerGrpc.newBlockingStub(driver.channel())
            .withDeadlineAfter(FuzzedDriver.HANG, TimeUnit.SECONDS);
    try {
      controller.listVolumes(ListVolumesRequest.newBuilder().setMaxEntries(100).build());
      controller.listSnapshots(
          ListSnapshotsRequest.newBuilder()
              .setMaxEntries(100)
              .putAllSecrets(known.secrets())
              .build());
    } catch (StatusRuntimeException e) {
      found.add("a list fails: " + e.getStatus());
    }
  }

  /** Deletes the oldest snapshots and volumes, so that the cluster is not filled. */
  private static void thinOut(FuzzedDriver driver, Known known) {
    known.oldest(true).forEach(id -> deleteSnapshot(driver, known, id));
    known.oldest(false).forEach(id -> deleteVolume(driver, known, id));
  }

  private static void deleteVolume(FuzzedDriver driver, Known known, String id) {
    driver.call(
        MethodCatalog.find(DELETE_VOLUME),
        DeleteVolumeRequest.newBuilder().setVolumeId(id).putAllSecrets(known.secrets()).build());
  }

  private static void deleteSnapshot(FuzzedDriver driver, Known known, String id) {
    driver.call(MethodCatalog.find(DELETE_SNAPSHOT), deletion(known, id));
  }

  private static DeleteSnapshotRequest deletion(Known known, String id) {
    return DeleteSnapshotRequest.newBuilder()
        .setSnapshotId(id)
        .putAllSecrets(known.secrets())
        .build();
  }

  /** What a CO does at the end: what was published and staged is undone, at once or a bit later. */
  private void cleanUp(FuzzedDriver driver, Known known) {
    for (boolean targets : new boolean[] {true, false}) {
      for (Message request : undo) {
        String id = FuzzedDriver.text(request, "volume_id");
        String staging = FuzzedDriver.text(request, "staging_target_path");
        boolean published = request.getDescriptorForType().findFieldByName("target_path") != null;
        if (published && targets) {
          String target = FuzzedDriver.text(request, "target_path");
          await(
              driver,
              "csi.v1.Node/NodeUnpublishVolume",
              NodeUnpublishVolumeRequest.newBuilder()
                  .setVolumeId(id)
                  .setTargetPath(target)
                  .build());
        } else if (!published && !targets) {
          await(
              driver,
              "csi.v1.Node/NodeUnstageVolume",
              NodeUnstageVolumeRequest.newBuilder()
                  .setVolumeId(id)
                  .setStagingTargetPath(staging)
                  .build());
        }
      }
    }
    for (Message request : undoGroups) {
      boolean snapshot = request instanceof DeleteVolumeGroupSnapshotRequest;
      await(
          driver,
          snapshot
              ? "csi.v1.GroupController/DeleteVolumeGroupSnapshot"
              : "volumegroup.Controller/DeleteVolumeGroup",
          request);
    }
    lists(driver, known);
    var controller = ControllerGrpc.newBlockingStub(driver.channel());
    for (var snapshot :
        controller
            .listSnapshots(ListSnapshotsRequest.newBuilder().putAllSecrets(known.secrets()).build())
            .getEntriesList()) {
      await(driver, DELETE_SNAPSHOT, deletion(known, snapshot.getSnapshot().getSnapshotId()));
    }
    for (var volume :
        controller.listVolumes(ListVolumesRequest.getDefaultInstance()).getEntriesList()) {
      await(
          driver,
          DELETE_VOLUME,
          DeleteVolumeRequest.newBuilder()
              .setVolumeId(volume.getVolume().getVolumeId())
              .putAllSecrets(known.secrets())
              .build());
    }
  }

  private void await(FuzzedDriver driver, String method, Message request) {
    Status[] last = {Status.OK};
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .until(
              () -> {
                last[0] = driver.call(MethodCatalog.find(method), request).status();
                return last[0].isOk();
              });
    } catch (org.awaitility.core.ConditionTimeoutException e) {
      found.add(method + " " + last[0] + "\n" + request);
    }
  }
}
