package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ceph-csi reclaim --pool}, each test in a namespace of its own. */
class PoolReclaimIT {
  private static final int MIB = 1 << 20;
  private static final long SMALL = 64L * MIB;
  private static final String EVIL = "evil\n\u001b[31m" + "x".repeat(20);
  private static final Set<ImageFeature> MAPPED =
      Set.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF);
  private static final TestCluster CEPH = TestCluster.shared();

  @TempDir private static Path shared;
  private static RadosCluster cluster;
  private static FileSystemImage small;
  private static FileSystemImage xfs;
  private static String[] connection;

  @TempDir Path folder;
  private final String namespace = "n" + UUID.randomUUID();
  private final String place = CEPH.pool() + "/" + namespace;
  private IoContext io;
  private RbdPool pool;
  private Path state;

  @BeforeAll
  static void prepare() throws IOException {
    cluster = CEPH.connect();
    small = FileSystemImage.make(shared, "ext4", SMALL, "-b", "4096");
    small.mounted(
        """
        for i in $(seq 1 9); do head -c 4000000 /dev/urandom > f$i; done
        sync -f .
        rm f1 f2 f4 f5 f7 f8
        """);
    xfs = FileSystemImage.make(shared, "xfs", 320L * MIB);
    xfs.fillAndEmpty(120L * MIB);
    // Only a user whose key is given can prove whose lock a run left that was killed.
    connection =
        new String[] {
          "--cluster",
          TestDriver.CLUSTER_ID,
          "--clusters-file",
          TestDriver.clustersFile(CEPH, shared).toString(),
          "--credentials-file",
          TestDriver.credentialsFolder(CEPH, shared, CEPH.rbdUser()).toString()
        };
  }

  @AfterAll
  static void disconnect() {
    cluster.close();
  }

  @BeforeEach
  void makeNamespace() {
    CEPH.rbd("namespace", "create", place);
    io = cluster.openPool(CEPH.pool(), namespace);
    pool = new RbdPool(io);
    state = folder.resolve("state.json");
  }

  @AfterEach
  void close() {
    io.close();
  }

  private static ImageOptions options(Set<ImageFeature> features) {
    return ImageOptions.builder().features(features).build();
  }

  private void image(String name, FileSystemImage content, long size) {
    pool.create(name, size, options(MAPPED));
    try (RbdImage image = pool.open(name)) {
      content.writeTo(image);
    }
  }

  private void images(String prefix, int count) {
    for (int i = 0; i < count; i++) {
      image(prefix + i, small, SMALL);
    }
  }

  private List<String> arguments(String... more) {
    List<String> all = new ArrayList<>(List.of("reclaim"));
    all.addAll(List.of(connection));
    all.addAll(List.of("--pool", place, "-o", "json"));
    all.addAll(List.of(more));
    return all;
  }

  private Program reclaim(String... more) {
    return Program.run(arguments(more).toArray(new String[0]));
  }

  @Test
  void aDryRunWritesWhatEachImageWouldGiveAndATrimWhatIsLeft() throws IOException {
    images("give-", 2);
    image(EVIL, small, SMALL);
    Path file = Files.writeString(shared.resolve("metrics.prom"), "of before");
    String option = "--metrics-file=" + file;
    Program dry = reclaim("--dry-run", option, "--metrics-images=2");
    assertThat(dry.exitCode()).as(dry.err()).isZero();
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).filteredOn(line -> line.startsWith("ceph_csi_reclaimable_image_")).hasSize(2);
    assertThat(lines)
        .anyMatch(line -> line.matches("ceph_csi_reclaimable_images\\{.*skipped=\"none\"} 3"));
    assertThat(lines).allMatch(line -> line.startsWith("#") || line.matches("[a-z_]+\\{.*} \\d+"));

    Program trim = reclaim(option);
    assertThat(trim.exitCode()).as(trim.err()).isZero();
    assertThat(Files.readString(file))
        .doesNotContain("image=")
        .containsPattern("pool_bytes\\{.*} 0\n");
  }

  private static JsonNode json(Program run) throws IOException {
    assertThat(run.out()).as("%s", run.err()).startsWith("{");
    return PoolStates.JSON.readTree(run.out());
  }

  private Process start(Path out, String... more) throws IOException {
    List<String> command = ChildJvm.command(List.of(), DriverMain.class);
    command.addAll(arguments(more));
    return new ProcessBuilder(command)
        .redirectOutput(out.toFile())
        .redirectError(folder.resolve("err").toFile())
        .start();
  }

  private Set<String> done() throws IOException {
    Set<String> done = new TreeSet<>();
    if (Files.exists(state)) {
      for (JsonNode image : PoolStates.JSON.readTree(state.toFile()).path("images")) {
        if (image.path("outcome").path("kind").asText().equals("done")) {
          done.add(image.path("name").asText());
        }
      }
    }
    return done;
  }

  private void awaitDone(int images, Process process) throws IOException {
    Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> done().size() >= images || !process.isAlive());
    assertThat(process.isAlive()).as("%s", Files.readString(folder.resolve("err"))).isTrue();
  }

  private long used(String name) {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .headBytes();
  }

  private void assertComplete(String name, FileSystemImage content) throws IOException {
    String checksums = content.checksums();
    Path kept = Files.copy(content.file(), folder.resolve("kept-" + UUID.randomUUID()));
    try (RbdImage image = pool.openReadOnly(name)) {
      content.readFrom(image);
    }
    content.check();
    assertThat(content.checksums()).isEqualTo(checksums);
    Files.move(kept, content.file(), StandardCopyOption.REPLACE_EXISTING);
  }

  private String left(JsonNode report, String name) {
    return PoolStates.named(report.path("notReclaimed"), name).path("reason").asText();
  }

  @Test
  void aPoolOfManyKindsIsReclaimedThoughTheProcessIsKilledOnTheWay() throws Exception {
    images("ext4-", 20);
    image("xfs-0", xfs, 320L * MIB);
    image("xfs-1", xfs, 320L * MIB);
    image(EVIL, small, SMALL);
    image("used", small, SMALL);
    image("trash", small, SMALL);
    pool.moveToTrash("trash", Duration.ofHours(1));
    pool.create("no-lock", SMALL, options(Set.of(ImageFeature.LAYERING)));
    pool.create("thick", SMALL, options(MAPPED));
    CEPH.rbd("image-meta", "set", place + "/thick", ".rbd.csi.ceph.com/thick-provisioned", "true");
    for (String name : List.of("blank-0", "blank-1", "luks", "noise")) {
      pool.create(name, SMALL, options(MAPPED));
    }
    try (RbdImage luks = pool.open("luks");
        RbdImage noise = pool.open("noise")) {
      luks.write(0, "LUKS\u00ba\u00be".getBytes(ISO_8859_1));
      noise.write(0, new byte[] {1, 2, 3, 4});
    }

    String[] run = {"--state", state.toString(), "--max-bytes-per-second", "" + 24 * MIB};
    Set<String> before;
    String gone;
    try (RbdImage user = pool.open("used")) {
      assertThat(user.size()).isEqualTo(SMALL);
      Process process = start(folder.resolve("killed"), run);
      try {
        awaitDone(4, process);
      } finally {
        process.destroyForcibly().waitFor();
      }
      before = done();
      assertThat(before).hasSizeBetween(4, 22);
      // What is done is not looked at again, or this one would be missed.
      gone = before.iterator().next();
      pool.remove(gone, Progress.NONE);
      // The estimate is not repeated, or this one would be found.
      image("later", small, SMALL);
      awaitWatchersOfDead();

      Program next = reclaim("--state", state.toString());
      assertThat(next.exitCode()).as("%s %s", next.out(), next.err()).isZero();
      assertReport(json(next), gone);
    }
    assertThat(used("later")).isGreaterThan(30L * MIB);
    for (String name : List.of("ext4-0", "ext4-19", EVIL)) {
      if (!name.equals(gone)) {
        assertComplete(name, small);
      }
    }
    assertComplete("xfs-0", xfs);

    Program again = reclaim("--state", state.toString());
    assertThat(again.exitCode()).isZero();
    assertThat(json(again).path("freedBytes").asLong()).isGreaterThan(18L * 8 * MIB);
    assertThat(json(again).path("discardedInsideObjectsBytes").asLong())
        .isGreaterThan(18L * 16 * MIB);
  }

  private void assertReport(JsonNode report, String gone) {
    assertThat(report.path("images")).hasSize(23);
    for (JsonNode image : report.path("images")) {
      assertThat(image.path("outcome").asText()).as("%s", image).isEqualTo("done");
      assertThat(image.path("discardedBytes").asLong()).isPositive();
      String name = image.path("name").asText();
      if (name.startsWith("ext4") && !name.equals(gone)) {
        assertThat(used(name)).as(name).isLessThanOrEqualTo(36L * MIB); // of 44
      }
    }
    assertThat(left(report, "used")).isEqualTo("in_use");
    assertThat(left(report, "luks")).isEqualTo("encrypted");
    assertThat(left(report, "noise")).isEqualTo("no_file_system");
    assertThat(left(report, "blank-0")).isEqualTo("no_file_system");
    assertThat(left(report, "no-lock")).isEqualTo("no_exclusive_lock");
    assertThat(left(report, "thick")).isEqualTo("thick_provisioned");
    assertThat(report.path("notReclaimed")).hasSize(7);
    assertThat(report.toString()).doesNotContain("\"trash\"", "later");
  }

  /** The cluster forgets what a process had open that was killed after half a minute. */
  private void awaitWatchersOfDead() throws IOException {
    Set<String> open = new TreeSet<>();
    for (JsonNode image : PoolStates.JSON.readTree(state.toFile()).path("images")) {
      if (image.path("reason").asText().equals("none")
          && !image.path("outcome").path("kind").asText().equals("done")) {
        open.add(image.path("name").asText());
      }
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(200))
        .until(() -> open.stream().allMatch(this::isUnused));
  }

  private boolean isUnused(String name) {
    try (RbdImage image = pool.openReadOnly(name)) {
      return image.watchers().isEmpty();
    }
  }

  @Test
  void anImageThatWasInUseForTheEstimateIsTrimmedByARunThatGoesOn() throws IOException {
    images("ext4-", 2);
    try (RbdImage user = pool.open("ext4-0")) {
      assertThat(user.size()).isEqualTo(SMALL);
      Program first = reclaim("--state", state.toString());
      assertThat(first.exitCode()).as(first.err()).isZero();
      assertThat(left(json(first), "ext4-0")).isEqualTo("in_use");
    }
    long before = used("ext4-0");
    image("later", small, SMALL);
    Program next = reclaim("--state", state.toString());
    assertThat(next.exitCode()).as(next.err()).isZero();
    JsonNode images = json(next).path("images");
    assertThat(images).hasSize(2);
    assertThat(PoolStates.named(images, "ext4-0").path("outcome").asText()).isEqualTo("done");
    assertThat(used("ext4-0")).isLessThan(before);
  }

  @Test
  void aRunThatIsTerminatedEndsInOrderAndGoesOn() throws Exception {
    images("ext4-", 8);
    Path out = folder.resolve("terminated");
    Process process =
        start(out, "--state", state.toString(), "--max-bytes-per-second", "" + 16 * MIB);
    try {
      awaitDone(2, process);
    } finally {
      process.destroy();
    }
    assertThat(process.waitFor(40, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(143);
    JsonNode report = PoolStates.JSON.readTree(out.toFile());
    assertThat(report.path("left").asText()).isEqualTo("stopped");
    assertThat(done()).hasSizeBetween(2, 7);
    for (int i = 0; i < 8; i++) {
      assertThat(isUnused("ext4-" + i)).isTrue();
      assertThat(CEPH.rbd("lock", "ls", place + "/ext4-" + i)).isEmpty();
    }

    Program next = reclaim("--state", state.toString());
    assertThat(next.exitCode()).as("%s", next.err()).isZero();
    assertThat(done()).hasSize(8);
    assertThat(json(next).path("left").asText()).isEmpty();
    assertComplete("ext4-7", small);
  }

  @Test
  void aDryRunListsOnlyAndItsStateIsTheBeginningOfTheRun() throws IOException {
    images("ext4-", 3);
    long used = used("ext4-0");
    Program dry = reclaim("--dry-run", "--top", "2", "--state", state.toString());
    assertThat(dry.exitCode()).as("%s", dry.err()).isZero();
    JsonNode list = json(dry);
    assertThat(list.path("images")).hasSize(2);
    JsonNode first = list.path("images").get(0);
    assertThat(first.path("outcome").asText()).isEqualTo("not_begun");
    assertThat(first.path("reclaimableBytes").asLong()).isBetween(20L * MIB, 40L * MIB);
    assertThat(left(list, "ext4-2")).isEqualTo("beyond_top");
    assertThat(used("ext4-0")).isEqualTo(used);

    assertThat(reclaim("--top", "3", "--state", state.toString()).exitCode()).isEqualTo(2);
    Program done = reclaim("--top", "2", "--state", state.toString());
    assertThat(done.exitCode()).as("%s", done.err()).isZero();
    JsonNode image = json(done).path("images").get(0);
    assertThat(image.path("discardedBytes")).isEqualTo(first.path("reclaimableBytes"));
    assertThat(image.path("discardedInsideObjectsBytes"))
        .isEqualTo(first.path("reclaimableInsideObjectsBytes"));
    assertThat(image.path("freedObjects")).isEqualTo(first.path("reclaimableObjects"));
    assertThat(used("ext4-0")).isLessThan(used);
    assertThat(used("ext4-2")).isEqualTo(used);
  }

  @Test
  void aBudgetOfBytesAndOneOfTimeEndARunAndAreNoFailure() throws IOException {
    images("ext4-", 4);
    Program bytes = reclaim("--budget", "1M", "--reclaims", "1", "--state", state.toString());
    assertThat(bytes.exitCode()).as("%s", bytes.err()).isZero();
    assertThat(json(bytes).path("left").asText()).isEqualTo("budget");
    assertThat(done()).hasSize(1);
    Program same = reclaim("--budget", "1M", "--reclaims", "1", "--state", state.toString());
    assertThat(same.exitCode()).isZero();
    assertThat(done()).hasSize(1);

    Program time = reclaim("--budget", "1s", "--max-bytes-per-second", "" + 8 * MIB);
    assertThat(time.exitCode()).as("%s", time.err()).isZero();
    JsonNode report = json(time);
    assertThat(report.path("left").asText()).isEqualTo("budget");
    assertThat(report.path("seconds").asDouble()).isLessThan(20);
    assertThat(report.path("discardedBytes").asLong()).isLessThan(60L * MIB);
  }

  @Test
  void anImageThatComesIntoUseAfterTheEstimateIsSkippedAndTriedAgain() throws IOException {
    images("ext4-", 2);
    assertThat(reclaim("--dry-run", "--state", state.toString()).exitCode()).isZero();
    try (RbdImage user = pool.open("ext4-0")) {
      assertThat(user.size()).isEqualTo(SMALL);
      Program run = reclaim("--state", state.toString());
      assertThat(run.exitCode()).isEqualTo(3);
      JsonNode used = PoolStates.named(json(run).path("images"), "ext4-0");
      assertThat(used.path("outcome").asText()).isEqualTo("skipped");
      assertThat(used.path("reason").asText()).contains("in use by");
    }
    pool.moveToTrash("ext4-1", Duration.ofHours(1));
    Program next = reclaim("--state", state.toString());
    assertThat(next.exitCode()).as("%s", next.out()).isZero();
    assertThat(done()).containsExactly("ext4-0", "ext4-1");
  }

  @Test
  void whatIsGoneSinceTheEstimateIsNoFailureAndATrashedImageIsLeftAlone() throws IOException {
    images("ext4-", 3);
    assertThat(reclaim("--dry-run", "--state", state.toString()).exitCode()).isZero();
    pool.remove("ext4-0", Progress.NONE);
    String id = ImageId.find(pool, "ext4-1").orElseThrow();
    long used = used("ext4-1");
    pool.moveToTrash("ext4-1", Duration.ofHours(1));
    pool.rename("ext4-2", "renamed");
    Program run = reclaim("--state", state.toString());
    assertThat(run.exitCode()).as("%s", run.out()).isZero();
    JsonNode images = json(run).path("images");
    assertThat(PoolStates.named(images, "ext4-0").path("outcome").asText()).isEqualTo("gone");
    assertThat(PoolStates.named(images, "ext4-1").path("outcome").asText()).isEqualTo("gone");
    assertThat(PoolStates.named(images, "ext4-2").path("outcome").asText()).isEqualTo("done");
    assertThat(new UsageMeter(pool).byObjectMap(id).orElseThrow().headBytes()).isEqualTo(used);
    assertThat(used("renamed")).isLessThan(used);
  }

  @Test
  void aTableIsForPeopleAndNamesOfOthersAreEscaped() {
    image(EVIL, small, SMALL);
    pool.create("blank\u001b", SMALL, options(MAPPED));
    List<String> arguments = arguments();
    arguments.removeAll(List.of("-o", "json"));
    Program run = Program.run(arguments.toArray(new String[0]));
    assertThat(run.exitCode()).as("%s", run.err()).isZero();
    assertThat(run.out())
        .contains("RECLAIMABLE", "evil\\n\\u001b[31m", "inside objects that stay")
        .contains("not reclaimed: no_file_system", "blank\\u001b: ")
        .doesNotContain("\u001b");
  }

  @Test
  void whatIsDamagedInThePoolIsListedAndKeepsTheOthersFromNothing() throws IOException {
    images("ext4-", 1);
    CEPH.rados(
        "-p", CEPH.pool(), "-N", namespace, "setomapval", "rbd_directory", "name_forged", "\u0001");
    Program run = reclaim();
    assertThat(run.exitCode()).as("%s %s", run.out(), run.err()).isZero();
    assertThat(left(json(run), "forged")).isEqualTo("unreadable");
    assertThat(json(run).path("images").get(0).path("outcome").asText()).isEqualTo("done");
  }

  /** librbd would open the ancestors of a loop until the memory is used up. */
  @Test
  void whatIsForgedInAnImageIsTheAnswerForThatImageAlone() throws Exception {
    images("ext4-", 1);
    for (String name : List.of("striped", "huge", "loop", "zero")) {
      pool.create(name, SMALL, options(MAPPED));
    }
    Omaps omaps = new Omaps(CEPH, CEPH.pool(), namespace);
    String striped = "rbd_header." + ImageId.find(pool, "striped").orElseThrow();
    omaps.set(striped, "stripe_unit", ForgedHeaders.number(1 << 22));
    omaps.set(striped, "stripe_count", ForgedHeaders.number(1L << 62));
    String huge = "rbd_header." + ImageId.find(pool, "huge").orElseThrow();
    byte[] features = omaps.bytes(huge, "features");
    ForgedHeaders.layouts(features).get(2).forEach((key, value) -> omaps.set(huge, key, value));
    omaps.set(huge, "stripe_count", ForgedHeaders.number(1L << 62));
    String loop = ImageId.find(pool, "loop").orElseThrow();
    try (RbdImage image = pool.open("loop")) {
      image.snapshots().create("s");
    }
    long snapshot = ImageHeader.read(io, loop).orElseThrow().snapshotIds().get(0);
    ForgedHeaders.parent(io, loop, new ImageLink(io.poolId(), namespace, loop), snapshot, MIB);
    ForgedHeaders.otherId(io, "zero", ImageId.find(pool, "zero").orElseThrow(), "a\0b");

    for (String exact : List.of("--exact", "--reclaimable", "--no-walk")) {
      List<String> arguments = arguments(exact);
      arguments.set(0, "usage");
      Program usage = Program.fork(folder, arguments.toArray(new String[0]));
      assertThat(usage.exitCode()).as("%s", usage.err()).isEqualTo(3);
      JsonNode measured = json(usage).path("images");
      for (String name : List.of("ext4-0", "striped")) {
        assertThat(PoolStates.named(measured, place + "/" + name).path("usedBytes").isNumber())
            .as("%s", measured)
            .isTrue();
      }
      assertThat(usage.err().lines())
          .anyMatch(line -> line.contains("/zero: ") && line.contains("EBADMSG"))
          .anyMatch(line -> line.contains("/huge: ") && line.contains("EBADMSG"));
      if (!exact.equals("--no-walk")) { // whose object map tells enough
        assertThat(usage.err().lines())
            .anyMatch(line -> line.matches(".*/loop: .*EBADMSG.*form a loop.*"));
      }
    }

    Program run = Program.fork(folder, arguments().toArray(new String[0]));
    assertThat(run.exitCode()).as("%s %s", run.out(), run.err()).isZero();
    for (String name : List.of("huge", "loop", "zero")) {
      assertThat(left(json(run), name)).as(name).isEqualTo("unreadable");
    }
    assertThat(left(json(run), "striped")).isEqualTo("no_file_system");
    assertThat(json(run).path("images").get(0).path("outcome").asText()).isEqualTo("done");
  }

  @Test
  void anImageIsLookedAtBeforeItIsOpenedByItsName() {
    pool.create("loop", SMALL, options(MAPPED));
    String id = ImageId.find(pool, "loop").orElseThrow();
    try (RbdImage image = pool.open("loop")) {
      image.snapshots().create("s");
    }
    long snapshot = ImageHeader.read(io, id).orElseThrow().snapshotIds().get(0);
    ForgedHeaders.parent(io, id, new ImageLink(io.poolId(), namespace, id), snapshot, MIB);
    for (String named : List.of("", id)) {
      CliTarget.Connector none = CliTarget.Connector.each(new ClusterOptions());
      ImageRef ref = new ImageRef(CEPH.pool(), namespace, "loop");
      assertThatThrownBy(() -> new CliTarget(none, io, ref, named).openReadOnly().close())
          .hasMessageContaining("they form a loop");
    }
  }
}
