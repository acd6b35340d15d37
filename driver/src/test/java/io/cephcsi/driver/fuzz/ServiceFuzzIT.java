package io.cephcsi.driver.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Message;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.grpc.MethodCatalog;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
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
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
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
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests that are nearly right, of every method, by four callers at once, to a driver that serves
 * controller and node on a real cluster. Whatever is in them, the driver answers in time and with a
 * code that says whose mistake it was, lives on, and touches nothing of others.
 *
 * <p>The usual run is half a minute for each kind of storage, always with the same seed. {@code
 * CEPH_CSI_TEST_FUZZ_SECONDS} is for another time and {@code CEPH_CSI_TEST_CAMPAIGN=full} for
 * 50,000 requests each: both take their seed from {@code CEPH_CSI_TEST_SEED}, and want an answer
 * that is not late. {@code CEPH_CSI_TEST_FUZZ_METHODS} is for some methods only (a regular
 * expression).
 */
class ServiceFuzzIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int REQUESTS = FULL ? 50_000 : Integer.MAX_VALUE;
  private static final String TIME = System.getenv("CEPH_CSI_TEST_FUZZ_SECONDS");
  private static final boolean USUAL = !FULL && TIME == null;
  private static final int SECONDS = TIME != null ? Integer.parseInt(TIME) : FULL ? 5400 : 30;
  private static final long USUAL_SEED = 51;
  private static final long SEED =
      USUAL
          ? USUAL_SEED
          : Optional.ofNullable(System.getenv("CEPH_CSI_TEST_SEED"))
              .map(Long::parseLong)
              .orElse(USUAL_SEED);
  private static final String METHODS =
      System.getenv().getOrDefault("CEPH_CSI_TEST_FUZZ_METHODS", ".");
  private static final int CALLERS = 4;
  private static final long MOST_MEMORY = 600; // of the whole process, in MiB
  static final String DELETE_VOLUME = "csi.v1.Controller/DeleteVolume";
  static final String DELETE_SNAPSHOT = "csi.v1.Controller/DeleteSnapshot";
  private static final Set<String> OFTEN =
      Set.of("CreateVolume", "NodeStageVolume", "NodePublishVolume", "CreateSnapshot");
  private static final String MUST_NOT_BE_THERE = "/tmp/ceph-csi-fuzz-must-not-be-there";
  private static final Set<Status.Code> FAULTS =
      Set.of(Status.Code.INTERNAL, Status.Code.UNKNOWN, Status.Code.DATA_LOSS);

  /** Of a driver that is slow or does not serve: also of one on a busy machine. */
  private static final Set<Status.Code> LATE =
      Set.of(Status.Code.UNAVAILABLE, Status.Code.DEADLINE_EXCEEDED);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS) // else there may be mounts in it, to be looked at
  private Path folder;

  private final ConcurrentLinkedQueue<String> found = new ConcurrentLinkedQueue<>();
  private final AtomicInteger sent = new AtomicInteger();
  private final Map<Status.Code, Integer> codes = new ConcurrentSkipListMap<>();

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
      Undo undo = new Undo(secrets);
      fuzz(driver, known, undo);
      String output = driver.output();
      assertThat(driver.isAlive())
          .as("the driver lives: %s", output.substring(Math.max(0, output.length() - 2000)))
          .isTrue();
      System.err.printf(
          "fuzz: %s, seed %d: %d requests, %d findings, %d MiB, %s%n",
          type, SEED, sent.get(), found.size(), driver.mostMemory(), codes);
      found.addAll(undo.run(driver));
      lists(driver, known);
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

  private void fuzz(FuzzedDriver driver, Known known, Undo undo) throws InterruptedException {
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
                        step(driver, known, undo, methods, random);
                      }
                    }));
    callers.shutdown();
    assertThat(callers.awaitTermination(SECONDS + 2L * FuzzedDriver.HANG, TimeUnit.SECONDS))
        .as("the callers end")
        .isTrue();
  }

  private void step(
      FuzzedDriver driver, Known known, Undo undo, List<MethodDescriptor> methods, Random random) {
    MethodDescriptor method = methods.get(random.nextInt(methods.size()));
    for (int i = 0; i < 3 && !OFTEN.contains(method.getName()); i++) {
      method = methods.get(random.nextInt(methods.size()));
    }
    Message request = new RequestMaker(known, random).request(method.getInputType());
    long begun = System.nanoTime();
    FuzzedDriver.Outcome outcome = driver.call(method, request);
    Status status = outcome.status();
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    codes.merge(status.getCode(), 1, Integer::sum);
    if (FAULTS.contains(status.getCode())
        || millis >= TimeUnit.SECONDS.toMillis(FuzzedDriver.HANG)
        || (!USUAL && LATE.contains(status.getCode()))) {
      String shown = request.toString();
      found.add(
          "%s %s %s after %d ms%n%s"
              .formatted(
                  method.getName(),
                  status.getCode(),
                  status.getDescription(),
                  millis,
                  shown.substring(0, Math.min(1500, shown.length()))));
    }
    if (status.isOk()) {
      undo.remember(method.getName(), request, outcome.answers());
      remember(method.getName(), outcome.answers(), known);
    }
    if (known.isFull()) {
      thinOut(driver, known, undo);
    }
    if (random.nextInt(60) == 0) {
      lists(driver, known);
    }
  }

  private static void remember(String method, List<Message> answers, Known known) {
    switch (method) {
      case "CreateVolume" -> known.volume(FuzzedDriver.text(answers.get(0), "volume.volume_id"));
      case "CreateSnapshot" ->
          known.snapshot(FuzzedDriver.text(answers.get(0), "snapshot.snapshot_id"));
      case "CreateVolumeGroup" ->
          known.group(FuzzedDriver.text(answers.get(0), "volume_group.volume_group_id"));
      case "CreateVolumeGroupSnapshot" ->
          known.group(FuzzedDriver.text(answers.get(0), "group_snapshot.group_snapshot_id"));
      default -> {}
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
  private static void thinOut(FuzzedDriver driver, Known known, Undo undo) {
    MethodDescriptor deleteSnapshot = MethodCatalog.find(DELETE_SNAPSHOT);
    MethodDescriptor deleteVolume = MethodCatalog.find(DELETE_VOLUME);
    known.oldest(true).forEach(id -> driver.call(deleteSnapshot, undo.deleteSnapshot(id)));
    known.oldest(false).forEach(id -> driver.call(deleteVolume, undo.deleteVolume(id)));
  }
}
