package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.interchange.GoldenLayout;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** A cluster of its own with volumes of both drivers, and checks of it. */
final class CheckedCluster implements AutoCloseable {
  static final long MIB = 1L << 20;
  static final String NODE = "node-that-is-there";

  private final LocalCluster ceph;
  private final TestDriver driver;
  private final RadosCluster connection;
  private final IoContext io;
  private final List<PlainVolume> plain = new ArrayList<>();
  private final List<Snapshot> snapshots = new ArrayList<>();
  private final List<Snapshot> natives = new ArrayList<>();
  private final List<Volume> restored = new ArrayList<>();
  private final List<Volume> copied = new ArrayList<>();
  private final List<Volume> members = new ArrayList<>();

  /** A volume that nothing was made of. */
  record PlainVolume(String requestName, UUID uuid, String id, String image, String imageId) {
    String entry() {
      return "csi.volume." + uuid;
    }
  }

  CheckedCluster(String name) {
    ceph = TestCluster.start(name);
    driver = TestDriver.rbd(ceph).withCredentials().start();
    connection = ceph.connect();
    io = connection.openPool("rbd");
  }

  /** Some 50 volumes and snapshots, those that ceph-csi left among them. */
  void fill() {
    GoldenLayout.layOut(ceph, GoldenLayout.ALL_LIVE);
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapSet(NODE, Instant.now().toString().getBytes(UTF_8));
      io.operate("csi.java.nodes.default", write);
    }
    for (int i = 0; i < 16; i++) {
      plain.add(makePlain("plain-" + i, i % 2 == 0));
    }
    for (int i = 0; i < 6; i++) {
      Volume source = driver.create("source-" + i, 32 * MIB);
      if (i == 0) {
        new ImageContent(ceph).write("rbd/" + TestDriver.image(source), 7);
      }
      Snapshot snapshot = driver.snapshot("shot-" + i, source.getVolumeId());
      snapshots.add(snapshot);
      restored.add(driver.restore("restored-" + i, 32 * MIB, snapshot.getSnapshotId()));
      copied.add(driver.copy("copied-" + i, 32 * MIB, source.getVolumeId()));
      Snapshot ofImage =
          driver.snapshot(
              driver
                  .snapshotRequest("native-" + i, source.getVolumeId())
                  .putParameters("snapshotMode", "native"));
      natives.add(ofImage);
      if (i == 5) {
        driver.delete(source.getVolumeId());
      }
    }
    TestGroups groups = new TestGroups(ceph, driver);
    members.add(driver.create("member-1", 32 * MIB));
    members.add(driver.create("member-2", 32 * MIB));
    groups.create("group-1", members.get(0).getVolumeId(), members.get(1).getVolumeId());
    String three = driver.create("member-3", 32 * MIB).getVolumeId();
    String four = driver.create("member-4", 32 * MIB).getVolumeId();
    new TestGroupSnapshots(driver).take("group-snapshot-1", three, four);
  }

  PlainVolume makePlain(String name, boolean filled) {
    Volume volume = driver.create(name, 32 * MIB);
    String image = TestDriver.image(volume);
    if (filled) {
      new ImageContent(ceph).write("rbd/" + image, name.hashCode());
    }
    return new PlainVolume(
        name,
        VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid(),
        volume.getVolumeId(),
        image,
        ImageId.find(new RbdPool(io), image).orElseThrow());
  }

  /** Checks the pool: what is unfinished counts, however young. */
  List<Finding> check(Duration settle, Duration minAge) {
    return result(settle, minAge).findings();
  }

  RbdCheck.Result result(Duration settle, Duration minAge) {
    CheckSettings settings = new CheckSettings(16, 0, settle, minAge, Duration.ZERO, true);
    try (Workers workers = new Workers(settings)) {
      return new RbdCheck(settings, workers, new CheckProgress(), Set.of("default")).check(io);
    }
  }

  List<Finding> check() {
    return check(Duration.ZERO, Duration.ZERO);
  }

  /** Findings as kind and object. */
  static Set<String> shown(List<Finding> findings) {
    Set<String> shown = new TreeSet<>();
    findings.forEach(finding -> shown.add(finding.kind() + " " + finding.object()));
    return shown;
  }

  LocalCluster ceph() {
    return ceph;
  }

  TestDriver driver() {
    return driver;
  }

  IoContext io() {
    return io;
  }

  List<PlainVolume> plain() {
    return plain;
  }

  List<Snapshot> snapshots() {
    return snapshots;
  }

  /** Clones of the snapshots, one of each. */
  List<Volume> restored() {
    return restored;
  }

  /** Clones of the volumes that the snapshots are of. */
  List<Volume> copied() {
    return copied;
  }

  /** The members of a volume group. */
  List<Volume> members() {
    return members;
  }

  /** The id of the image of a name. */
  String imageId(String image) {
    return ImageId.find(new RbdPool(io), image).orElseThrow();
  }

  List<Snapshot> natives() {
    return natives;
  }

  @Override
  public void close() {
    driver.close();
    io.close();
    connection.close();
    ceph.close();
  }
}
