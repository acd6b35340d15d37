package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever others wrote into a pool: a check ends, says it in plain text, and harms no volume. The
 * cluster is its own: what is written here may end OSDs.
 */
class HostilePoolIT {
  private static LocalCluster ceph;
  private static final Path PROGRAM =
      LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi");
  private static final int TRIES =
      "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 500 : 12;
  private static final List<String> UUIDS =
      Stream.generate(() -> UUID.randomUUID().toString()).limit(4).toList();
  private static final List<String> IDS = List.of("aa01", "aa02", "aa03", "..", "a/b");
  private static final List<String> TEXTS =
      List.of(
          "",
          "x",
          "\u001b]0;owned\u0007",
          "a\nb",
          "\u202egnp",
          "$(reboot)",
          "x".repeat(3000),
          "../../etc",
          "%s%n",
          "\uFFFD");

  private final String namespace = "hostile-" + UUID.randomUUID();
  private RadosCluster cluster;
  private IoContext io;
  private JournalEntry whole;
  private String wholeId;

  @BeforeAll
  static void start() {
    ceph = TestCluster.start("fsck-hostile");
  }

  @AfterAll
  static void end() {
    ceph.close();
  }

  @BeforeEach
  void makeVolume() {
    ceph.rbd("namespace", "create", ceph.pool() + "/" + namespace);
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool(), namespace);
    Journal journal = new Journal(JournalKind.VOLUME, "default", io, io);
    whole = journal.reserve("whole", uuid -> "csi-vol-" + uuid, Map.of());
    new RbdPool(io).create(whole.name(), 8 << 20, ImageOptions.builder().build());
    wholeId = ImageId.find(new RbdPool(io), whole.name()).orElseThrow();
    journal.setImageId(whole.uuid(), wholeId);
    io.writeFull("rbd_data." + wholeId + ".0000000000000000", "content".getBytes(UTF_8));
  }

  @AfterEach
  void removeAll() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
    ceph.rbd("namespace", "remove", ceph.pool() + "/" + namespace);
  }

  @Test
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void aCheckAndARepairSurviveWhatOthersWrote() {
    Tries.times(
        TRIES,
        values -> {
          for (int i = values.between(1, 60); i > 0; i--) {
            garble(values);
          }
          for (Finding finding : check()) {
            for (String text :
                List.of(finding.place(), finding.object(), finding.detail(), finding.command())) {
              assertThat(PlainText.isPlain(text)).as(text).isTrue();
              assertThat(text).hasSizeLessThan(1000);
            }
            try {
              Optional<String> done = finding.repair().flatMap(Finding.Repair::mend);
              done.ifPresent(text -> assertThat(PlainText.isPlain(text)).as(text).isTrue());
            } catch (CephException.TimedOut e) {
              throw e; // a daemon of the cluster may have ended
            } catch (CephException | VolumeException e) {
              assertThat(e.getMessage()).isNotEmpty(); // said for a person
            }
          }
          requireWhole();
        });
  }

  /** By {@code rbd_list2}, which calls {@code trash_list}, it would end the OSD. */
  @Test
  void usageListsAPoolBesideADamagedEntryOfTheTrash(@TempDir Path folder) throws Exception {
    put("rbd_trash", "id_00", new byte[] {1, 2, 3});
    Path out = folder.resolve("out");
    Process usage =
        new ProcessBuilder(
                PROGRAM.toString(),
                "usage",
                "--pool=" + ceph.pool() + "/" + namespace,
                "--conf=" + ceph.conf())
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    assertThat(usage.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(usage.exitValue()).as(Files.readString(out)).isZero();
    assertThat(Files.readString(out)).contains(whole.name());
    requireWhole();
  }

  private List<Finding> check() {
    CheckSettings settings =
        new CheckSettings(8, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    try (Workers workers = new Workers(settings)) {
      return new RbdCheck(settings, workers, new CheckProgress(), Set.of("default"))
          .check(io)
          .findings();
    }
  }

  /** The volume beside is what it was. */
  private void requireWhole() {
    Journal journal = new Journal(JournalKind.VOLUME, "default", io, io);
    assertThat(journal.byName("whole").flatMap(JournalEntry::imageId)).contains(wholeId);
    assertThat(ImageId.find(new RbdPool(io), whole.name())).contains(wholeId);
    assertThat(io.read("rbd_data." + wholeId + ".0000000000000000", 0, 100))
        .isEqualTo("content".getBytes(UTF_8));
    assertThat(SavedObject.of(io, "rbd_header." + wholeId).content().orElseThrow().omap())
        .containsKeys("size", "object_prefix", "features");
  }

  private void garble(Tries values) {
    String uuid = values.oneOf(UUIDS);
    String id = values.oneOf(IDS);
    String image = "csi-vol-" + uuid + (values.either() ? "" : "-temp");
    String text = values.oneOf(TEXTS);
    switch (values.between(0, 13)) {
      case 0 -> put("csi.volumes.default", "csi.volume." + text, value(values));
      case 1 -> put("csi.snaps.default", "csi.snap." + text, value(values));
      case 2 -> put("csi.groups.default", "csi.volume.group." + text, value(values));
      case 3 -> entry("csi.volume." + uuid, "csi.volname", values);
      case 4 -> entry("csi.snap." + uuid, "csi.snapname", values);
      case 5 -> entry("csi.volume.group." + uuid, "csi.volname", values);
      case 6 -> put("rbd_directory", (values.either() ? "name_" : "id_") + image, value(values));
      case 7 -> put("rbd_directory", "id_" + id, value(values));
      case 8 ->
          put("rbd_trash", (values.either() ? "id_" : "csi.java.deleted_") + id, value(values));
      case 9 -> io.writeFull("rbd_id." + image, value(values));
      case 10 -> header("rbd_header." + (id.contains("/") ? "aa01" : id), values);
      case 11 -> io.writeFull("rbd_object_map." + id, value(values));
      case 12 ->
          io.writeFull("rbd_data." + id + ".000000000000000" + values.between(0, 9), value(values));
      default -> put("rbd_group_directory", "name_csi-vol-group-" + uuid, value(values));
    }
  }

  private void entry(String object, String nameKey, Tries values) {
    put(object, nameKey, values.oneOf(TEXTS).getBytes(UTF_8));
    put(object, "csi.imagename", ("csi-vol-" + values.oneOf(UUIDS)).getBytes(UTF_8));
    put(
        object,
        values.oneOf(
            List.of(
                "csi.imageid",
                "csi.journalpool",
                "csi.java.maker",
                "csi.java.deleting",
                "csi.java.nativesnapshot",
                "csi.java.nativeimage",
                "csi.java.publish." + values.oneOf(TEXTS) + "n",
                "csi.source")),
        value(values));
  }

  /** A header that is right but for some keys: links of all kinds lead to each other. */
  private void header(String object, Tries values) {
    SavedObject right = SavedObject.of(io, "rbd_header." + wholeId);
    if (SavedObject.of(io, object).content().isEmpty()) {
      right.copyTo(io, object);
    }
    ClassCall parent =
        ClassCall.content().u64(io.poolId()).string(namespace).string(values.oneOf(IDS)).u64(4);
    for (int i = values.between(1, 3); i > 0; i--) {
      switch (values.between(0, 4)) {
        case 0 -> put(object, "parent", ClassCall.content().structure(1, 1, parent).input());
        case 1 -> put(object, "snap_seq", value(values));
        case 2 -> put(object, "snapshot_0000000000000004", value(values));
        case 3 -> put(object, "snap_children_0000000000000004", value(values));
        default ->
            put(
                object,
                values.oneOf(List.of("size", "order", "features", "flags", "rbd_group_ref")),
                value(values));
      }
    }
  }

  private byte[] value(Tries values) {
    return switch (values.between(0, 4)) {
      case 0 -> values.bytes(40);
      case 1 -> values.oneOf(UUIDS).getBytes(UTF_8);
      case 2 -> ClassCall.content().string(values.oneOf(IDS)).input();
      case 3 ->
          ("00000000000000" + values.between(10, 99) + "/" + values.oneOf(UUIDS)).getBytes(UTF_8);
      default -> values.oneOf(TEXTS).getBytes(UTF_8);
    };
  }

  private void put(String object, String key, byte[] value) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.create().omapSet(key, value));
    }
  }
}
