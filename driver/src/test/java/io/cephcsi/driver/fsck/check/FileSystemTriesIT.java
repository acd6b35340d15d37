package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several damages of a file system at once: a check names each, and nothing else. */
class FileSystemTriesIT {
  private static final Logger LOG = LoggerFactory.getLogger(FileSystemTriesIT.class);
  private static final int TRIES = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 300 : 6;
  private static final String VOLUMES = "csi.volumes.default";
  private static final String SNAPSHOTS = "csi.snaps.default";
  private static final long MIB = 1L << 20;

  private static LocalCluster ceph;
  private static TestDriver driver;
  private static RadosCluster connection;
  private static FileSystemInfo fileSystem;
  private static IoContext io;
  private static CephFsMount mount;
  private static final List<Victim> VICTIMS = new ArrayList<>();

  /** What is damaged: a volume, or a snapshot that a shallow volume shows. */
  private record Victim(Map<String, Damage> damages) {}

  /** Damages something. */
  private interface Damage {
    void apply(Change change);
  }

  @BeforeAll
  static void fill() {
    ceph = TestCluster.start("fsck-fs-tries");
    driver = TestDriver.cephFs(ceph).withCredentials().start();
    connection = ceph.connect();
    fileSystem = MonitorQueries.fileSystems(connection).get(0);
    io = connection.openPool(fileSystem.metadataPoolId(), "csi");
    mount = CephFsMount.mount(connection, fileSystem.name(), "/");
    for (int i = 0; i < 8; i++) {
      VICTIMS.add(volume("plain-" + i, driver.create("plain-" + i, 8 * MIB)));
    }
    for (int i = 0; i < 3; i++) {
      Volume source = driver.create("source-" + i, 8 * MIB);
      String taken = driver.snapshot("shot-" + i, source.getVolumeId()).getSnapshotId();
      String shown = driver.show("shown-" + i, taken).getVolumeId();
      VICTIMS.add(snapshot(i, uuid(source.getVolumeId()), taken, uuid(shown)));
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(check()).isEmpty());
  }

  @AfterAll
  static void end() {
    mount.close();
    io.close();
    connection.close();
    driver.close();
    ceph.close();
  }

  private static UUID uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid();
  }

  /** Some damages, what a check must find, and how all is put back. */
  private static final class Change {
    private final Tries values;
    private final Set<String> expected = new TreeSet<>();
    private final List<Runnable> undo = new ArrayList<>();

    Change(Tries values) {
      this.values = values;
    }

    Change expect(String kind, Object object) {
      expected.add(kind + " " + object);
      return this;
    }

    void remove(String object) {
      SavedObject saved = SavedObject.of(io, object);
      undo.add(() -> saved.restore(io));
      io.remove(object);
    }

    void replace(String object, byte[] data) {
      SavedObject saved = SavedObject.of(io, object);
      undo.add(() -> saved.restore(io));
      io.writeFull(object, data);
    }

    /** Sets a key, or removes it if the value is empty. */
    void set(String object, String key, byte[] value) {
      byte[] old =
          SavedObject.of(io, object).content().orElseThrow().omap().getOrDefault(key, new byte[0]);
      put(object, key, value);
      undo.add(() -> put(object, key, old));
    }

    void set(String object, String key, String value) {
      set(object, key, value.getBytes(UTF_8));
    }

    private static void put(String object, String key, byte[] value) {
      try (WriteOperation write = new WriteOperation()) {
        io.operate(
            object, value.length == 0 ? write.omapRemove(List.of(key)) : write.omapSet(key, value));
      }
    }

    void undo() {
      for (int i = undo.size() - 1; i >= 0; i--) {
        undo.get(i).run();
      }
    }
  }

  private static Victim volume(String name, Volume volume) {
    UUID uuid = uuid(volume.getVolumeId());
    String entry = "csi.volume." + uuid;
    String key = "csi.volume." + name;
    String path =
        ceph.ceph(
                "fs",
                "subvolume",
                "getpath",
                fileSystem.name(),
                "csi-vol-" + uuid,
                "--group_name",
                "csi")
            .strip();
    Map<String, Damage> damages = new LinkedHashMap<>();
    damages.put(
        "name removed",
        c -> {
          c.set(VOLUMES, key, "");
          c.expect("ENTRY_WITHOUT_NAME", entry);
        });
    damages.put(
        "bit of the name turned",
        c -> {
          byte[] value = uuid.toString().getBytes(UTF_8);
          value[c.values.between(0, value.length - 1)] ^= (byte) 0x40;
          c.set(VOLUMES, key, value);
          c.expect("ENTRY_WITHOUT_NAME", entry).expect("NAME_DAMAGED", "volume " + name);
        });
    damages.put(
        "name leads nowhere",
        c -> {
          c.set(VOLUMES, key, UUID.randomUUID().toString());
          c.expect("ENTRY_WITHOUT_NAME", entry).expect("NAME_WITHOUT_ENTRY", "volume " + name);
        });
    damages.put(
        "entry removed",
        c -> {
          c.remove(entry);
          c.expect("NAME_WITHOUT_ENTRY", "volume " + name)
              .expect("SUBVOLUME_WITHOUT_ENTRY", "csi-vol-" + uuid);
        });
    for (String removed : List.of("csi.volname", "csi.imagename")) {
      damages.put(
          removed + " removed",
          c -> {
            c.set(entry, removed, "");
            c.expect("ENTRY_INCOMPLETE", entry);
          });
    }
    damages.put(
        "path in the name of the subvolume",
        c -> {
          c.set(entry, "csi.imagename", "../../" + c.values.between(0, 1000));
          c.expect("ENTRY_DAMAGED", entry);
        });
    damages.put(
        "deletion begun",
        c -> {
          c.set(entry, "csi.java.deleting", "2026-01-01T00:00:00Z 1");
          c.expect("DELETION_UNFINISHED", entry);
        });
    damages.put(
        "quota removed",
        c -> {
          mount.setQuotaBytes(path, 0);
          c.undo.add(() -> mount.setQuotaBytes(path, 8 * MIB));
          c.expect("QUOTA_MISSING", entry);
        });
    return new Victim(damages);
  }

  private static Victim snapshot(int number, UUID source, String id, UUID shown) {
    String tracker = "rt-backingsnapshot-" + id;
    String entry = "csi.snap." + uuid(id);
    Map<String, Damage> damages = new LinkedHashMap<>();
    damages.put(
        "tracker removed",
        c -> {
          c.remove(tracker);
          c.expect("TRACKER_WRONG", id);
        });
    damages.put(
        "tracker of noise",
        c -> {
          c.replace(tracker, c.values.bytes(3));
          c.expect("TRACKER_WRONG", id);
        });
    damages.put(
        "reference of nothing",
        c -> {
          c.set(tracker, "csi-vol-" + UUID.randomUUID(), "\u0001");
          c.expect("TRACKER_WRONG", id);
        });
    damages.put(
        "entry of the shallow volume removed",
        c -> {
          c.remove("csi.volume." + shown);
          c.expect("TRACKER_WRONG", id).expect("NAME_WITHOUT_ENTRY", "volume shown-" + number);
        });
    damages.put(
        "name of the shallow volume removed",
        c -> {
          c.set(VOLUMES, "csi.volume.shown-" + number, "");
          c.expect("ENTRY_WITHOUT_NAME", "csi.volume." + shown);
        });
    damages.put(
        "name of the snapshot removed",
        c -> {
          c.set(SNAPSHOTS, "csi.snap.shot-" + number, "");
          c.expect("ENTRY_WITHOUT_NAME", entry);
        });
    damages.put(
        "entry of the snapshot removed",
        c -> {
          c.remove(entry);
          c.expect("NAME_WITHOUT_ENTRY", "snapshot shot-" + number)
              .expect("TRACKER_WRONG", id)
              .expect(
                  "SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY",
                  "csi-vol-" + source + "@csi-snap-" + uuid(id));
        });
    return new Victim(damages);
  }

  private static List<Finding> check() {
    CheckSettings settings =
        new CheckSettings(16, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    List<Finding> findings = new ArrayList<>();
    try (Workers workers = new Workers(settings)) {
      new FileSystemCheck(
              settings, workers, new CheckProgress(), Set.of("default"), "csi", Map.of())
          .check(connection, fileSystem, io, result -> findings.addAll(result.findings()));
    }
    return findings;
  }

  @Test
  void severalDamagesAtOnceAreFoundAndNothingElse() {
    AtomicInteger count = new AtomicInteger();
    Tries.times(
        TRIES,
        values -> {
          Change change = new Change(values);
          List<String> names = new ArrayList<>();
          try {
            for (Victim victim : values.someOf(VICTIMS, 2, 6)) {
              Map.Entry<String, Damage> damage =
                  values.oneOf(new ArrayList<>(victim.damages().entrySet()));
              names.add(damage.getKey());
              damage.getValue().apply(change);
              count.incrementAndGet();
            }
            List<Finding> found = check();
            assertThat(CheckedCluster.shown(found))
                .as(names + ": " + found)
                .isEqualTo(change.expected);
          } finally {
            change.undo();
          }
        });
    LOG.warn("{} damages in {} tries, each found and nothing else", count, TRIES);
    assertThat(check()).isEmpty();
  }
}
