package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.check.CheckedFileSystem.MIB;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.SNAPSHOTS;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.VOLUMES;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.uuid;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.Tries;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** Damages of what a file system has of CephFS volumes, by name. */
final class FileSystemDamages {
  private final CheckedFileSystem cluster;
  private final IoContext io;

  FileSystemDamages(CheckedFileSystem cluster) {
    this.cluster = cluster;
    this.io = cluster.io();
  }

  /** Damages something. */
  interface Damage {
    void apply(Change change);
  }

  /** Some damages, what a check must find, and how all is put back. */
  final class Change {
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
      cluster.set(object, key, value);
      undo.add(() -> cluster.set(object, key, old));
    }

    void set(String object, String key, String value) {
      set(object, key, value.getBytes(UTF_8));
    }

    Set<String> expected() {
      return expected;
    }

    void undo() {
      for (int i = undo.size() - 1; i >= 0; i--) {
        undo.get(i).run();
      }
    }
  }

  /** Those of a volume that nothing was made of. */
  Map<String, Damage> ofVolume(String name, Volume volume) {
    UUID uuid = uuid(volume.getVolumeId());
    String entry = "csi.volume." + uuid;
    String key = "csi.volume." + name;
    String path = cluster.path(uuid);
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
          cluster.mount().setQuotaBytes(path, 0);
          c.undo.add(() -> cluster.mount().setQuotaBytes(path, 8 * MIB));
          c.expect("QUOTA_MISSING", entry);
        });
    return damages;
  }

  /** Those of a snapshot that a shallow volume shows. */
  Map<String, Damage> ofSnapshot(int number, UUID source, String id, UUID shown) {
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
    return damages;
  }
}
