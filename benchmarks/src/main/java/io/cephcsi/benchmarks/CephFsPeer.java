package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The calls on CephFS in the steps of ceph-csi: what it asks of monitors, manager and OSDs, one
 * after the other, and nothing besides. It counts the time of the manager's commands.
 */
final class CephFsPeer {
  private static final String FILE_SYSTEM = "cephfs";
  private static final String VOLUMES = "csi.volumes.default";
  private static final String SNAPSHOTS = "csi.snaps.default";

  private final RadosCluster cluster;
  private final IoContext io;
  private double managerMillis;

  /**
   * @param cluster the connection
   * @param io the metadata pool, in the namespace of the journal
   */
  CephFsPeer(RadosCluster cluster, IoContext io) {
    this.cluster = cluster;
    this.io = io;
  }

  /** How long the manager's commands took since this was asked last, in milliseconds. */
  double managerMillis() {
    double millis = managerMillis;
    managerMillis = 0;
    return millis;
  }

  String create(String name) {
    askMonitors();
    require(get(VOLUMES, List.of("csi.volume." + name)).isEmpty());
    String uuid = reserve(VOLUMES, "csi.volume.", name);
    manager(
        "fs subvolume create",
        "\"sub_name\": \"csi-vol-%s\", \"size\": %d, \"mode\": \"777\"".formatted(uuid, 64L << 20));
    path(uuid);
    return uuid;
  }

  void again(String name) {
    askMonitors();
    String uuid = text(get(VOLUMES, List.of("csi.volume." + name)), "csi.volume." + name);
    read("csi.volume." + uuid);
    path(uuid);
  }

  String snapshot(String volume, String name) {
    open(volume);
    require(get(SNAPSHOTS, List.of("csi.snap." + name)).isEmpty());
    String uuid = reserve(SNAPSHOTS, "csi.snap.", name);
    manager("fs subvolume snapshot create", ofSnapshot(volume, uuid));
    manager("fs subvolume snapshot info", ofSnapshot(volume, uuid));
    return uuid;
  }

  String shallow(String volume, String snapshot, String name) {
    askMonitors();
    read("csi.snap." + snapshot);
    info(volume);
    manager("fs subvolume snapshot info", ofSnapshot(volume, snapshot));
    require(get(VOLUMES, List.of("csi.volume." + name)).isEmpty());
    String uuid = reserve(VOLUMES, "csi.volume.", name);
    new PeerSequence(io, snapshot).add(snapshot, "csi-vol-" + uuid);
    path(volume);
    return uuid;
  }

  void deleteShallow(String volume, String snapshot, String shallow, String name) {
    askMonitors();
    read("csi.volume." + shallow);
    read("csi.snap." + snapshot);
    info(volume);
    new PeerSequence(io, snapshot).remove(snapshot, "csi-vol-" + shallow);
    undo(VOLUMES, "csi.volume.", name, shallow);
  }

  void deleteSnapshot(String volume, String snapshot, String name) {
    askMonitors();
    read("csi.snap." + snapshot);
    info(volume);
    manager("fs subvolume snapshot info", ofSnapshot(volume, snapshot));
    manager("fs subvolume snapshot rm", ofSnapshot(volume, snapshot) + ", \"force\": true");
    undo(SNAPSHOTS, "csi.snap.", name, snapshot);
  }

  void delete(String volume, String name) {
    open(volume);
    manager(
        "fs subvolume rm",
        "\"sub_name\": \"csi-vol-%s\", \"force\": true, \"retain_snapshots\": true"
            .formatted(volume));
    undo(VOLUMES, "csi.volume.", name, volume);
  }

  /** The tracker of a snapshot, with the snapshot's own reference. */
  void track(String snapshot) {
    try (WriteOperation write = new WriteOperation()) {
      write.create();
      write.setXattr("csi.ceph.com/rt-version", new byte[] {0, 0, 0, 1});
      write.omapSet(Map.of(snapshot, new byte[] {1}));
      write.writeFull(new byte[] {0, 0, 0, 1});
      io.operate("rt-backingsnapshot-" + snapshot, write);
    }
  }

  void untrack(String snapshot) {
    io.remove("rt-backingsnapshot-" + snapshot);
  }

  private void open(String volume) {
    askMonitors();
    read("csi.volume." + volume);
    info(volume);
  }

  /** It asks for the id of the file system, and again for its metadata pool. */
  private void askMonitors() {
    for (int i = 0; i < 2; i++) {
      require(
          !cluster.monCommand("{\"prefix\": \"fs dump\", \"format\": \"json\"}").text().isEmpty());
    }
  }

  private String reserve(String directory, String prefix, String name) {
    String uuid = UUID.randomUUID().toString();
    try (WriteOperation write = new WriteOperation()) {
      write.create();
      io.operate(prefix + uuid, write);
    }
    set(directory, Map.of(prefix + name, uuid.getBytes(UTF_8)));
    set(prefix + uuid, Map.of("csi.volname", name.getBytes(UTF_8)));
    return uuid;
  }

  private void undo(String directory, String prefix, String name, String uuid) {
    io.remove(prefix + uuid);
    try (WriteOperation write = new WriteOperation()) {
      write.omapRemove(List.of(prefix + name));
      io.operate(directory, write);
    }
  }

  private void set(String object, Map<String, byte[]> values) {
    try (WriteOperation write = new WriteOperation()) {
      write.omapSet(values);
      io.operate(object, write);
    }
  }

  private Map<String, byte[]> get(String object, List<String> keys) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(keys);
      io.operate(object, read);
      return values.get();
    }
  }

  private void read(String object) {
    require(!get(object, List.of("csi.volname")).isEmpty());
  }

  private static String text(Map<String, byte[]> values, String key) {
    byte[] value = values.get(key);
    require(value != null);
    return new String(value == null ? new byte[0] : value, UTF_8);
  }

  private void path(String volume) {
    manager("fs subvolume getpath", "\"sub_name\": \"csi-vol-%s\"".formatted(volume));
  }

  private void info(String volume) {
    manager("fs subvolume info", "\"sub_name\": \"csi-vol-%s\"".formatted(volume));
  }

  private static String ofSnapshot(String volume, String snapshot) {
    return "\"sub_name\": \"csi-vol-%s\", \"snap_name\": \"csi-snap-%s\""
        .formatted(volume, snapshot);
  }

  private void manager(String prefix, String more) {
    long start = System.nanoTime();
    cluster.mgrCommand(
        "{\"prefix\": \"%s\", \"vol_name\": \"%s\", \"group_name\": \"csi\", \"format\": \"json\", %s}"
            .formatted(prefix, FILE_SYSTEM, more));
    managerMillis += (System.nanoTime() - start) / 1e6;
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw new IllegalStateException("not the state that was expected");
    }
  }
}
