package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.FileCopy;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The commands that need no server. */
class ImageCommandsIT {
  private static final int MIB = 1 << 20;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TestCluster CEPH = TestCluster.shared();

  private static RadosCluster cluster;
  private static IoContext io;
  private static RbdPool pool;

  @TempDir Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final String name = "image-" + UUID.randomUUID();

  @BeforeAll
  static void connect() {
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool());
    pool = new RbdPool(io);
  }

  @AfterAll
  static void disconnect() {
    io.close();
    cluster.close();
  }

  private static ImageOptions options() {
    return ImageOptions.builder()
        .features(
            Set.of(
                ImageFeature.LAYERING,
                ImageFeature.EXCLUSIVE_LOCK,
                ImageFeature.OBJECT_MAP,
                ImageFeature.FAST_DIFF))
        .build();
  }

  private int run(Object command, String... args) {
    List<String> all = new ArrayList<>(List.of("--conf", CEPH.conf().toString()));
    all.addAll(List.of(args));
    return execute(command, all.toArray(new String[0]));
  }

  private int execute(Object command, String... args) {
    out.getBuffer().setLength(0);
    return DriverMain.withErrors(new CommandLine(command))
        .setOut(new PrintWriter(out, true))
        .setErr(new PrintWriter(err, true))
        .execute(args);
  }

  private String spec() {
    return CEPH.pool() + "/" + name;
  }

  private JsonNode printed() throws IOException {
    return JSON.readTree(out.toString());
  }

  private FileSystemImage image(String type) {
    FileSystemImage files = FileSystemImage.make(folder, type, 384L * MIB);
    files.fillAndEmpty(300L * MIB);
    pool.create(name, 384L * MIB, options());
    try (RbdImage image = pool.open(name)) {
      files.writeTo(image);
    }
    return files;
  }

  @Test
  void usageSaysWhyThereIsNothingToReclaim() throws IOException {
    pool.create(name, 16L * MIB, options());
    try (RbdImage image = pool.open(name)) {
      image.write(0, "LUKS\u00ba\u00be".getBytes(ISO_8859_1));
    }
    assertThat(run(new UsageCommand(), "-o", "json", "--reclaimable", spec())).isZero();
    JsonNode usage = printed().get("images").get(0);
    assertThat(usage.get("notReclaimable").asText()).isEqualTo("encrypted");
    assertThat(usage.has("reclaimableBytes")).isFalse();
    assertThat(run(new UsageCommand(), "--reclaimable", spec())).isZero();
    assertThat(out.toString()).contains("WHY NOT").containsPattern(name + " .* - .*encrypted");
    assertThat(run(new UsageCommand(), spec())).isZero();
    assertThat(out.toString()).doesNotContain("encrypted", "WHY NOT");
  }

  @Test
  void usageAndDryRunsShowWhatADiskHoldsPartByPart() throws IOException {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", 64L * MIB);
    files.fillAndEmpty(64L * MIB);
    DiskImage disk =
        DiskImage.make(
            folder,
            200L * MIB,
            "sgdisk -n 1:1M:+8M -n 2:10M:+100M $DISK >/dev/null;"
                + " printf 'LUKS\\xba\\xbe' | dd of=$DISK bs=1M seek=1 conv=notrunc 2>/dev/null");
    disk.addVolumes(
        10L * MIB,
        100L * MIB,
        "pvcreate -q $PV; vgcreate -q vg $PV; lvcreate -n root -L 64M vg",
        Map.of("root", files.file()));
    pool.create(name, 200L * MIB, options());
    try (RbdImage image = pool.open(name)) {
      FileCopy.toImage(disk.file(), image);
    }
    assertThat(run(new UsageCommand(), "-o", "json", "--reclaimable", spec())).isZero();
    JsonNode usage = printed().get("images").get(0);
    assertThat(usage.get("reclaimableBytes").asLong()).isGreaterThan(10L * MIB);
    assertContent(usage.get("content"), files);
    assertThat(run(new ReclaimCommand(), "--dry-run", "-o", "json", spec())).isZero();
    JsonNode trim = printed().get("images").get(0).get("trim");
    assertThat(trim.get("fileSystem").asText()).isEqualTo("ext4");
    assertContent(trim.get("content"), files);

    String[] lines = {
      "  a GPT partition table at 0 B, 200.0 MiB, free ",
      "    partition 1: LUKS encryption at 1.0 MiB, 8.0 MiB, not trimmed: encrypted",
      "    partition 2: an LVM2 physical volume at 10.0 MiB, 100.0 MiB, free ",
      "      vg/root: ext4 at 11.0 MiB, 64.0 MiB, free "
    };
    assertThat(run(new UsageCommand(), "--reclaimable", spec())).isZero();
    assertThat(out.toString()).contains(lines);
    assertThat(run(new UsageCommand(), spec())).isZero();
    assertThat(out.toString()).doesNotContain("partition");
    assertThat(run(new ReclaimCommand(), "--dry-run", spec())).isZero();
    assertThat(out.toString()).contains(lines).contains("but not partition 1");
  }

  private static void assertContent(JsonNode content, FileSystemImage files) {
    assertThat(content.get("kind").asText()).isEqualTo("gpt");
    assertThat(content.get("freeBytes").asLong()).isEqualTo(files.freeBytes());
    assertThat(content.at("/parts/0/notReclaimable").asText()).isEqualTo("encrypted");
    assertThat(content.at("/parts/1/kind").asText()).isEqualTo("lvm2");
    assertThat(content.at("/parts/1/parts/0/name").asText()).isEqualTo("vg/root");
    assertThat(content.at("/parts/1/parts/0/kind").asText()).isEqualTo("ext4");
    assertThat(content.at("/parts/1/parts/0/offset").asLong()).isEqualTo(11L * MIB);
    assertThat(content.at("/parts/1/parts/0/sizeBytes").asLong()).isEqualTo(64L * MIB);
  }

  @Test
  void usageRanksAndReclaimFreesAnImageOfNoDriver() throws IOException {
    FileSystemImage files = image("ext4");
    String checksums = files.checksums();

    assertThat(run(new UsageCommand(), "-o", "json", "--reclaimable", spec()))
        .as("%s", err)
        .isZero();
    JsonNode usage = printed().get("images").get(0);
    assertThat(usage.get("method").asText()).isEqualTo("object-map");
    long used = usage.get("usedBytes").asLong();
    assertThat(usage.get("reclaimableBytes").asLong()).isGreaterThan(50L * MIB);

    assertThat(run(new ReclaimCommand(), "--dry-run", "-o", "json", spec())).isZero();
    JsonNode dry = printed().get("images").get(0);
    assertThat(dry.get("usedBefore").asLong()).isEqualTo(used);

    assertThat(run(new ReclaimCommand(), "-o", "json", spec())).as("%s", err).isZero();
    JsonNode done = printed().get("images").get(0);
    assertThat(done.get("outcome").asText()).isEqualTo("done");
    assertThat(done.get("usedAfter").asLong()).isEqualTo(dry.get("usedAfter").asLong());
    assertThat(done.get("trim").get("fileSystem").asText()).isEqualTo("ext4");

    try (RbdImage image = pool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
    assertThat(run(new UsageCommand(), spec())).isZero();
    assertThat(out.toString()).contains("IMAGE").contains(spec()).contains("TOTAL");
  }

  @Test
  void anImageInUseIsSkippedWithItsOwnExitCode() {
    pool.create(name, 64L * MIB, options());
    try (RbdImage user = pool.open(name)) {
      assertThat(run(new ReclaimCommand(), spec())).isEqualTo(3);
      assertThat(out.toString()).contains("skipped: in use by");
      assertThat(user.size()).isEqualTo(64L * MIB);
    }
  }

  @Test
  void anImageThatIsThickOnPurposeIsReclaimedWithTheOptionForIt() {
    pool.create(name, 64L * MIB, options());
    CEPH.rbd("image-meta", "set", spec(), ".rbd.csi.ceph.com/thick-provisioned", "true");
    assertThat(run(new ReclaimCommand(), spec())).isEqualTo(3);
    assertThat(out.toString()).contains("skipped").contains("thick");
    assertThat(run(new ReclaimCommand(), "--thick", spec())).as("%s", err).isZero();
  }

  @Test
  void aWrongOrMissingImageIsNamed() {
    assertThat(run(new ReclaimCommand(), spec())).isEqualTo(1);
    assertThat(out.toString()).contains("ENOENT");
    assertThat(run(new UsageCommand(), spec())).isEqualTo(3);
    assertThat(run(new UsageCommand())).isEqualTo(2);
    assertThat(run(new UsageCommand(), "--pool", CEPH.pool(), spec())).isEqualTo(2);
    assertThat(run(new UsageCommand(), "--top", "-1", spec())).isEqualTo(2);
    assertThat(run(new UsageCommand(), "--workers", "0", spec())).isEqualTo(2);
    assertThat(run(new ReclaimCommand())).isEqualTo(2);
    assertThat(run(new ReclaimCommand(), "--method", "magic", spec())).isEqualTo(2);
    assertThat(run(new ReclaimCommand(), "a//b")).isEqualTo(2);
    assertThat(execute(new UsageCommand(), "--conf", "/does/not/exist", spec())).isEqualTo(2);
    assertThat(err.toString()).contains("--conf").contains("reclaim.method");
  }

  @Test
  void aVolumeIsFoundByItsIdWithTheFilesOfTheDriver() throws IOException {
    try (TestDriver driver = TestDriver.rbd(CEPH).start()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 64 * MIB);
      Path secrets = Files.createTempFile(folder, "credentials", "");
      Files.setPosixFilePermissions(secrets, PosixFilePermissions.fromString("rw-------"));
      Map<String, String> values = new HashMap<>(driver.secrets());
      Files.writeString(
          secrets, "userID=" + values.get("userID") + "\nuserKey=" + values.get("userKey") + "\n");
      String[] connection = {
        "--cluster",
        TestDriver.CLUSTER_ID,
        "--clusters-file",
        driver.folder().resolve("config.json").toString(),
        "--credentials-file",
        secrets.toString(),
        volume.getVolumeId()
      };
      assertThat(execute(new UsageCommand(), connection)).as("%s", err).isZero();
      assertThat(out.toString()).contains(TestDriver.image(volume));
      assertThat(execute(new ReclaimCommand(), connection)).as("%s", err).isZero();
      driver.delete(volume.getVolumeId());
    }
  }

  @Test
  void aPoolIsMeasuredMuchFasterThanByTheCommandRbd() throws IOException {
    boolean campaign = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
    int images = campaign ? 1000 : 60;
    String namespace = "n" + UUID.randomUUID();
    CEPH.rbd("namespace", "create", CEPH.pool() + "/" + namespace);
    try (IoContext space = cluster.openPool(CEPH.pool(), namespace)) {
      RbdPool many = new RbdPool(space);
      for (int i = 0; i < images; i++) {
        many.create("i" + i, 10L << 30, options());
        try (RbdImage image = many.open("i" + i)) {
          for (int at = 0; at < i % 7; at++) {
            image.write(at * 10L * MIB, new byte[] {1});
          }
        }
      }
      String spec = CEPH.pool() + "/" + namespace;
      long start = System.nanoTime();
      assertThat(run(new UsageCommand(), "-o", "json", "--pool", spec)).isZero();
      long ours = System.nanoTime() - start;
      long total = printed().get("totalBytes").asLong();
      start = System.nanoTime();
      JsonNode said =
          JSON.readTree(
              CEPH.rbd("du", "--format", "json", "-p", CEPH.pool(), "--namespace", namespace));
      long theirs = System.nanoTime() - start;
      System.out.printf(
          "usage of %d images: %d ms, rbd du %d ms%n",
          images, TimeUnit.NANOSECONDS.toMillis(ours), TimeUnit.NANOSECONDS.toMillis(theirs));
      assertThat(total).isEqualTo(said.get("total_used_size").asLong());
      if (campaign) {
        assertThat(ours * 10).isLessThan(theirs);
      }
      for (int i = 0; i < images; i++) {
        many.remove("i" + i, Progress.NONE);
      }
    }
    CEPH.rbd("namespace", "remove", CEPH.pool() + "/" + namespace);
  }

  @Test
  void theImagesThatATrimWouldFreeMostOfComeFirst() throws IOException {
    String namespace = "n" + UUID.randomUUID();
    CEPH.rbd("namespace", "create", CEPH.pool() + "/" + namespace);
    try (IoContext space = cluster.openPool(CEPH.pool(), namespace)) {
      RbdPool some = new RbdPool(space);
      for (int part : new int[] {300, 100, 200}) {
        FileSystemImage files = FileSystemImage.make(folder, "ext4", 384L * MIB);
        files.fillAndEmpty((long) part * MIB);
        some.create("part-" + part, 384L * MIB, options());
        try (RbdImage image = some.open("part-" + part)) {
          files.writeTo(image);
        }
      }
      some.create("blank", 64L * MIB, options());
      String spec = CEPH.pool() + "/" + namespace;
      assertThat(run(new UsageCommand(), "--pool", spec, "--top", "3", "-o", "json")).isZero();
      JsonNode images = printed().get("images");
      assertThat(images).hasSize(3);
      long last = Long.MAX_VALUE;
      for (int i = 0; i < 3; i++) {
        assertThat(images.get(i).get("name").asText()).isEqualTo(spec + "/part-" + (300 - 100 * i));
        assertThat(images.get(i).get("reclaimableBytes").asLong()).isPositive().isLessThan(last);
        last = images.get(i).get("reclaimableBytes").asLong();
      }
      assertThat(run(new UsageCommand(), "--pool", spec, "--top", "2")).isZero();
      assertThat(out.toString()).contains("RECLAIMABLE").contains("part-200");
      assertThat(out.toString()).doesNotContain("part-100").doesNotContain("blank");
    }
  }

  /** What a person sees, in a terminal of {@code script}. */
  private String inTerminal(String command, String... args) {
    List<String> all =
        ChildJvm.command(List.of(), DriverMain.class, command, "--conf", CEPH.conf().toString());
    all.addAll(List.of(args));
    return Commands.run(
        List.of("env", "TERM=xterm", "script", "-qec", String.join(" ", all), "/dev/null"));
  }

  @Test
  void aTerminalShowsABarAndTheThroughput() {
    pool.create(name, 64L * MIB, options());
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 16; i++) {
        image.write(4L * MIB * i, new byte[512]);
      }
    }
    String shown =
        inTerminal("reclaim", "--max-bytes-per-second", Integer.toString(16 * MIB), spec());
    assertThat(shown).containsPattern(name + " sparsify \\[#+ *\\] +\\d+ %");
    assertThat(shown).contains("freed 64.0 MiB").containsPattern("\\d MiB/s");
    assertThat(inTerminal("usage", spec())).contains("object-map");
  }

  @Test
  void aDriverKilledInMidTrimLeavesACompleteFileSystem() throws Exception {
    FileSystemImage files = image("ext4");
    String checksums = files.checksums();
    long before = used();
    Process process =
        new ProcessBuilder(
                ChildJvm.command(
                    List.of(),
                    DriverMain.class,
                    "reclaim",
                    "--conf",
                    CEPH.conf().toString(),
                    "--max-bytes-per-second",
                    Integer.toString(16 * MIB),
                    spec()))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("killed.out").toFile())
            .start();
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .pollInterval(Duration.ofMillis(50))
          .until(() -> used() < before || !process.isAlive());
      assertThat(process.isAlive())
          .as("%s", Files.readString(folder.resolve("killed.out"), UTF_8))
          .isTrue();
    } finally {
      process.destroyForcibly();
    }
    process.waitFor();
    try (RbdImage image = pool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
    assertThat(used()).isLessThan(before);
  }

  private String forged(String suffix, BiConsumer<String, String> forgery) {
    String image = name + suffix;
    pool.create(image, 16L * MIB, options());
    try (RbdImage open = pool.open(image)) {
      open.write(0, new byte[] {1});
    }
    forgery.accept(image, ImageId.find(pool, image).orElseThrow());
    return CEPH.pool() + "/" + image;
  }

  private List<String> withForgedHeaders() {
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      int kind = i;
      wrong.add(
          forged(
              "-layout-" + i,
              (image, id) -> {
                Omaps omaps = new Omaps(CEPH, CEPH.pool(), "");
                String header = "rbd_header." + id;
                ForgedHeaders.layouts(omaps.bytes(header, "features"))
                    .get(kind)
                    .forEach((key, value) -> omaps.set(header, key, value));
              }));
    }
    for (String other : List.of("x%200d", "a".repeat(70), "a\0b")) {
      wrong.add(
          forged(
              "-id-" + wrong.size(), (image, id) -> ForgedHeaders.otherId(io, image, id, other)));
    }
    return wrong;
  }

  /** librbd divides by what they say, asserts it, or takes it for a format of printf. */
  @Test
  void aHeaderByWhichLibrbdWouldEndTheProcessIsTheAnswerForItsImage() throws Exception {
    List<String> wrong = withForgedHeaders();
    String right = forged("-right", (image, id) -> {});
    for (String command : List.of("usage --exact", "usage --reclaimable", "reclaim --dry-run")) {
      List<String> args = new ArrayList<>(List.of(command.split(" ", -1)));
      args.addAll(List.of("--conf", CEPH.conf().toString()));
      args.addAll(wrong);
      args.add(right);
      Program run = Program.fork(folder, args.toArray(new String[0]));
      String text = run.out() + run.err();
      assertThat(run.exitCode()).as(text).isEqualTo(command.startsWith("usage") ? 3 : 1);
      assertThat(run.out()).contains(right);
      for (String image : wrong) {
        assertThat(text.lines().filter(line -> line.startsWith(image + ":")))
            .as("%s of %s", image, text)
            .hasSize(1)
            .allMatch(line -> line.contains("EBADMSG"));
      }
    }
  }

  /** Its object map alone has 59 MiB. */
  @Test
  void anImageOfNineHundredTebibytesDoesNotEndTheProcess() throws Exception {
    // Where nobody else looks: to remove it takes many minutes.
    String namespace = CEPH.pool() + "/n" + UUID.randomUUID();
    String large = namespace + "/" + name;
    CEPH.rbd("namespace", "create", namespace);
    String features = "layering,exclusive-lock,object-map,fast-diff";
    CEPH.rbd("create", "--size", "900T", "--image-feature", features, large);
    String right = forged("-right", (image, id) -> {});
    String[] place = {"--conf", CEPH.conf().toString(), large, right};
    for (String command : List.of("usage --no-walk", "usage --no-walk --reclaimable")) {
      List<String> args = new ArrayList<>(List.of(command.split(" ", -1)));
      args.addAll(List.of(place));
      Program run = Program.fork(folder, args.toArray(new String[0]));
      String text = run.out() + run.err();
      assertThat(run.exitCode()).as(text).isEqualTo(3);
      assertThat(text).contains(large + ": it has no valid object map").doesNotContain("OutOf");
      assertThat(run.out()).contains(right.substring(right.indexOf('/') + 1));
    }
  }

  /** Each alone takes 32 MiB for the maps of head and snapshot; eight are measured at once. */
  @Test
  void tenImagesOfTheLargestMapsDoNotEndTheProcess() throws Exception {
    String namespace = "n" + UUID.randomUUID();
    String place = CEPH.pool() + "/" + namespace;
    CEPH.rbd("namespace", "create", place);
    try (IoContext space = cluster.openPool(CEPH.pool(), namespace)) {
      RbdPool there = new RbdPool(space);
      for (int i = 0; i < 10; i++) {
        there.create("large-" + i, 128L << 40, options());
        try (RbdImage image = there.open("large-" + i)) {
          image.write(0, new byte[4 * MIB]);
          image.snapshots().create("one");
        }
      }
      Program run =
          Program.fork(
              folder, "usage", "--conf", CEPH.conf().toString(), "-o", "json", "--pool", place);
      String text = run.out() + run.err();
      assertThat(run.exitCode()).as(text).isZero();
      assertThat(text).doesNotContain("OutOf");
      JsonNode images = JSON.readTree(run.out()).path("images");
      assertThat(images).hasSize(10);
      for (JsonNode image : images) {
        assertThat(image.path("method").asText()).as(text).isEqualTo("object-map");
      }
    }
  }

  /** A client of the kernel that lost its watch writes on when it comes back. */
  @Test
  void anImageWithoutTheLockThatANodeHasByTheJournalIsNotTrimmed() throws Exception {
    UUID uuid = UUID.randomUUID();
    String volume = "csi-vol-" + uuid;
    String image = CEPH.pool() + "/" + volume;
    String id = new VolumeId(TestDriver.CLUSTER_ID, io.poolId(), uuid).toString();
    Omaps journal = new Omaps(CEPH, CEPH.pool(), "");
    String entry = "csi.volume." + uuid;
    String attachment = "csi.java.publish.node-7";
    CEPH.rbd("create", image, "--size", "16M", "--image-feature", "layering");
    journal.set(entry, "csi.volname", name.getBytes(UTF_8));
    journal.set(entry, "csi.imagename", volume.getBytes(UTF_8));
    String published = "{\"readonly\":false,\"mode\":\"SINGLE_NODE_WRITER\",\"access\":\"mount\"}";
    journal.set(entry, attachment, published.getBytes(UTF_8));
    for (String named : List.of(image, id)) {
      assertThat(run(new ReclaimCommand(), "--enable-lock", "-o", "json", named)).isZero();
      JsonNode trim = printed().get("images").get(0).get("trim");
      assertThat(trim.get("skipped").asText()).isEqualTo("published");
      assertThat(trim.get("detail").asText()).contains("node-7");
    }
    assertThat(hasLock(volume)).isFalse();
    journal.removeKey(entry, attachment);
    assertThat(run(new ReclaimCommand(), "--enable-lock", "-o", "json", image)).isZero();
    JsonNode trim = printed().get("images").get(0).get("trim");
    assertThat(trim.get("skipped").asText()).isEqualTo("no_file_system");
    assertThat(hasLock(volume)).isTrue();
    CEPH.rbd("rm", image, "--no-progress");
    io.remove(entry);
  }

  private static boolean hasLock(String image) {
    try (RbdImage open = pool.openReadOnly(image)) {
      return open.features().contains(ImageFeature.EXCLUSIVE_LOCK);
    }
  }

  @Test
  void aNameOfAWrongFormIsSaidBeforeAnythingIsDone() {
    pool.create(name, 64L * MIB, options());
    try (RbdImage image = pool.open(name)) {
      image.write(0, new byte[4 * MIB]);
    }
    long before = used();
    assertThat(before).isPositive();
    for (String wrong : List.of("a//b", "no-volume-id", "a/b/c/d")) {
      assertThat(run(new ReclaimCommand(), spec(), wrong)).isEqualTo(2);
      assertThat(run(new UsageCommand(), spec(), wrong)).isEqualTo(2);
      assertThat(err.toString()).contains(wrong);
    }
    assertThat(used()).isEqualTo(before);
    assertThat(run(new ReclaimCommand(), spec())).isZero();
    assertThat(used()).isZero();
  }

  @Test
  void whatWasDoneBeforeATerminationIsSaid() throws Exception {
    FileSystemImage files = image("ext4");
    long before = used();
    String first = forged("-first", (image, id) -> {});
    Path said = folder.resolve("terminated.out");
    Process process =
        Program.start(
            said,
            folder.resolve("terminated.err"),
            "reclaim",
            "--conf",
            CEPH.conf().toString(),
            "--max-bytes-per-second",
            Integer.toString(16 * MIB),
            "-o",
            "json",
            first,
            spec());
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .pollInterval(Duration.ofMillis(50))
          .until(() -> used() < before || !process.isAlive());
      assertThat(process.isAlive()).isTrue();
      process.destroy();
      assertThat(process.waitFor(40, TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly();
    }
    JsonNode images = JSON.readTree(said.toFile()).path("images");
    assertThat(images).hasSize(2);
    assertThat(images.get(0).path("outcome").asText()).isEqualTo("done");
    assertThat(images.get(1).path("name").asText()).isEqualTo(spec());
    try (RbdImage image = pool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
  }

  private long used() {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .headBytes();
  }
}
