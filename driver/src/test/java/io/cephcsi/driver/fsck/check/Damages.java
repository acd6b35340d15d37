package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.check.CheckedCluster.PlainVolume;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.testing.Tries;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** Ways to damage a pool, each with what a check must find. */
final class Damages {
  private static final String VOLUMES = "csi.volumes.default";

  private final CheckedCluster cluster;
  private final IoContext io;
  private final Map<String, Damage> all = new LinkedHashMap<>();
  private final Map<String, Damage> ofSnapshots = new LinkedHashMap<>();

  /** Damages a volume; what is changed is saved before. */
  interface Damage {
    void apply(Change change);
  }

  /** One damage of a volume, and what undoes it. */
  final class Change {
    private final PlainVolume volume;
    private final PlainVolume other;
    private final Tries values;
    private final List<SavedObject> saved = new ArrayList<>();
    private final List<Runnable> undo = new ArrayList<>();
    private final Set<String> expected = new TreeSet<>();

    Change(PlainVolume volume, PlainVolume other, Tries values) {
      this.volume = volume;
      this.other = other;
      this.values = values;
    }

    PlainVolume volume() {
      return volume;
    }

    Set<String> expected() {
      return expected;
    }

    private Change expect(String kind, String object) {
      expected.add(kind + " " + object);
      return this;
    }

    private SavedObject save(String object) {
      SavedObject before = SavedObject.of(io, object);
      saved.add(before);
      return before;
    }

    private void remove(String object) {
      save(object);
      io.remove(object);
    }

    private void removeKey(String object, String key) {
      SavedObject before = SavedObject.of(io, object);
      byte[] value = before.content().orElseThrow().omap().get(key);
      try (WriteOperation write = new WriteOperation()) {
        io.operate(object, write.omapRemove(List.of(key)));
      }
      undo.add(() -> setRaw(object, key, value));
    }

    private void set(String object, String key, byte[] value) {
      SavedObject before = SavedObject.of(io, object);
      byte[] old = before.content().map(content -> content.omap().get(key)).orElse(null);
      setRaw(object, key, value);
      undo.add(
          old == null
              ? () -> {
                try (WriteOperation write = new WriteOperation()) {
                  io.operate(object, write.omapRemove(List.of(key)));
                }
              }
              : () -> setRaw(object, key, old));
    }

    private void set(String object, String key, String value) {
      set(object, key, value.getBytes(UTF_8));
    }

    private void replace(String object, byte[] data) {
      save(object);
      io.writeFull(object, data);
    }

    private void write(String object, byte[] data) {
      io.writeFull(object, data);
      undo.add(() -> io.remove(object));
    }

    private String key() {
      return "csi.volume." + volume.requestName();
    }

    private String named() {
      return "volume " + volume.requestName();
    }

    private boolean isFilled() {
      return SavedObject.of(io, "rbd_data." + volume.imageId() + ".0000000000000000")
          .content()
          .isPresent();
    }

    /** Puts all back. */
    void undo() {
      for (int i = undo.size() - 1; i >= 0; i--) {
        undo.get(i).run();
      }
      saved.forEach(object -> object.restore(io));
    }
  }

  private void setRaw(String object, String key, byte[] value) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapSet(key, value));
    }
  }

  Damages(CheckedCluster cluster) {
    this.cluster = cluster;
    this.io = cluster.io();
    addNames();
    addEntries();
    addImages();
    addOrphans();
    addSnapshots();
  }

  /** Those of volumes, by their names. */
  Map<String, Damage> all() {
    return all;
  }

  /** Those of snapshots, each of which changes the same ones. */
  Map<String, Damage> ofSnapshots() {
    return ofSnapshots;
  }

  private static String random() {
    return UUID.randomUUID().toString();
  }

  private static byte[] text(String value) {
    return ClassCall.content().string(value).input();
  }

  private void addNames() {
    all.put(
        "name removed",
        c -> {
          c.removeKey(VOLUMES, c.key());
          c.expect("ENTRY_WITHOUT_NAME", c.volume.entry());
        });
    all.put(
        "name damaged",
        c -> {
          byte[] value = c.volume.uuid().toString().getBytes(UTF_8);
          value[c.values.between(0, value.length - 1)] ^= (byte) 0x40;
          c.set(VOLUMES, c.key(), value);
          c.expect("ENTRY_WITHOUT_NAME", c.volume.entry()).expect("NAME_DAMAGED", c.named());
        });
    all.put(
        "name leads nowhere",
        c -> {
          c.set(VOLUMES, c.key(), random());
          c.expect("ENTRY_WITHOUT_NAME", c.volume.entry()).expect("NAME_WITHOUT_ENTRY", c.named());
        });
    all.put(
        "name leads to another",
        c -> {
          c.set(VOLUMES, c.key(), c.other.uuid().toString());
          c.expect("ENTRY_WITHOUT_NAME", c.volume.entry()).expect("NAME_DIFFERS", c.named());
        });
    all.put(
        "name of a pool that is gone",
        c -> {
          c.set(VOLUMES, c.key(), "00000000000fffff/" + c.volume.uuid());
          c.expect("ENTRY_WITHOUT_NAME", c.volume.entry()).expect("NAME_WITHOUT_ENTRY", c.named());
        });
    all.put(
        "name of another instance too",
        c -> {
          c.save("csi.volumes.other"); // an instance is known by this object
          setRaw("csi.volumes.other", c.key(), c.volume.uuid().toString().getBytes(UTF_8));
          c.expect("ENTRY_OF_TWO_INSTANCES", c.volume.entry());
        });
    all.put(
        "name without anything",
        c -> {
          String name = "pvc-" + random();
          c.set(VOLUMES, "csi.volume." + name, random());
          c.expect("NAME_WITHOUT_ENTRY", "volume " + name);
        });
  }

  private void addEntries() {
    all.put(
        "entry removed",
        c -> {
          c.remove(c.volume.entry());
          c.expect("NAME_WITHOUT_ENTRY", c.named()).expect("IMAGE_WITHOUT_ENTRY", c.volume.image());
        });
    all.put(
        "image id removed",
        c -> {
          c.removeKey(c.volume.entry(), "csi.imageid");
          c.expect("CREATION_UNFINISHED", c.volume.entry());
        });
    for (String key : List.of("csi.volname", "csi.imagename")) {
      all.put(
          key + " removed",
          c -> {
            c.removeKey(c.volume.entry(), key);
            c.expect("ENTRY_INCOMPLETE", c.volume.entry());
          });
      all.put(
          key + " with control characters",
          c -> {
            c.set(c.volume.entry(), key, "\u001b[2J" + random() + "\n");
            c.expect("ENTRY_DAMAGED", c.volume.entry());
          });
    }
    all.put(
        "image id damaged",
        c -> {
          c.set(c.volume.entry(), "csi.imageid", "../" + c.volume.imageId());
          c.expect("ENTRY_DAMAGED", c.volume.entry());
        });
    all.put(
        "image id of nothing",
        c -> {
          c.set(c.volume.entry(), "csi.imageid", "fff" + c.values.between(1000, 9999));
          c.expect("IMAGE_ID_DIFFERS", c.volume.entry());
        });
    all.put(
        "image id of another",
        c -> {
          c.set(c.volume.entry(), "csi.imageid", c.other.imageId());
          c.expect("IMAGE_OF_TWO_ENTRIES", c.other.imageId())
              .expect("IMAGE_RENAMED", c.volume.entry());
        });
    all.put(
        "deletion begun",
        c -> {
          c.set(c.volume.entry(), "csi.java.deleting", "2026-01-01T00:00:00Z 1");
          c.expect("DELETION_UNFINISHED", c.volume.entry());
        });
    all.put(
        "attached to a node that is gone",
        c -> {
          c.set(
              c.volume.entry(),
              "csi.java.publish.node-gone",
              "{\"readonly\":false,\"mode\":\"SINGLE_NODE_WRITER\",\"access\":\"mount\"}");
          c.expect("ATTACHED_TO_GONE_NODE", c.volume.entry());
        });
  }

  private void addImages() {
    all.put(
        "header removed",
        c -> {
          boolean filled = c.isFilled();
          c.remove("rbd_header." + c.volume.imageId());
          c.expect("IMAGE_GONE", c.volume.entry())
              .expect("OBJECT_MAP_WITHOUT_HEADER", "rbd_object_map." + c.volume.imageId());
          if (filled) {
            c.expect("DATA_WITHOUT_HEADER", "rbd_data." + c.volume.imageId());
          }
        });
    for (String key : List.of("size", "order", "features", "object_prefix", "snap_seq")) {
      all.put(
          "header without " + key,
          c -> {
            c.removeKey("rbd_header." + c.volume.imageId(), key);
            c.expect("UNREADABLE", "image id " + c.volume.imageId());
          });
    }
    for (String key : List.of("size", "order", "features", "object_prefix", "snap_seq")) {
      all.put(
          "header with half of " + key,
          c -> {
            String header = "rbd_header." + c.volume.imageId();
            byte[] value = SavedObject.of(io, header).content().orElseThrow().omap().get(key);
            c.set(header, key, Arrays.copyOf(value, value.length / 2));
            c.expect("UNREADABLE", "image id " + c.volume.imageId());
          });
    }
    all.put(
        "data of another",
        c -> {
          c.set(
              "rbd_header." + c.volume.imageId(),
              "object_prefix",
              text("rbd_data." + c.other.imageId()));
          c.expect("UNREADABLE", "image id " + c.volume.imageId());
        });
    all.put(
        "rbd_id removed",
        c -> {
          c.remove("rbd_id." + c.volume.image());
          c.expect("NAME_OBJECT_WRONG", c.volume.image());
        });
    all.put(
        "rbd_id of another",
        c -> {
          c.replace("rbd_id." + c.volume.image(), text(c.other.imageId()));
          c.expect("NAME_OBJECT_WRONG", c.volume.image());
        });
    all.put(
        "rbd_id emptied",
        c -> {
          c.replace("rbd_id." + c.volume.image(), new byte[0]);
          c.expect("NAME_OBJECT_WRONG", c.volume.image());
        });
    for (String prefix : List.of("name_", "id_", "name_ and id_")) {
      all.put(
          "directory without " + prefix,
          c -> {
            if (prefix.startsWith("name_")) {
              c.removeKey("rbd_directory", "name_" + c.volume.image());
            }
            if (prefix.endsWith("id_")) {
              c.removeKey("rbd_directory", "id_" + c.volume.imageId());
            }
            c.expect("DIRECTORY_DIFFERS", c.volume.image());
          });
    }
    all.put(
        "object map removed",
        c -> {
          c.remove("rbd_object_map." + c.volume.imageId());
          c.expect("OBJECT_MAP_INVALID", c.volume.image());
        });
    all.put(
        "object map flagged",
        c -> {
          c.set("rbd_header." + c.volume.imageId(), "flags", ClassCall.content().u64(1).input());
          c.expect("OBJECT_MAP_INVALID", c.volume.image());
        });
    all.put(
        "bit of the object map turned",
        c -> {
          String map = "rbd_object_map." + c.volume.imageId();
          if (c.isFilled()) {
            byte[] data = SavedObject.of(io, map).content().orElseThrow().data();
            data[c.values.between(18, data.length - 1)] ^= (byte) (1 << c.values.between(0, 7));
            c.replace(map, data);
            c.expect("OBJECT_MAP_INVALID", c.volume.image());
          }
        });
    all.put(
        "object map without an object",
        c -> {
          String map = "rbd_object_map." + c.volume.imageId();
          PlainVolume empty =
              cluster.plain().stream()
                  .filter(v -> Integer.parseInt(v.requestName().substring(6)) % 2 == 1)
                  .findFirst()
                  .orElseThrow();
          if (c.isFilled()) {
            byte[] none =
                SavedObject.of(io, "rbd_object_map." + empty.imageId())
                    .content()
                    .orElseThrow()
                    .data();
            c.replace(map, none);
            c.expect("OBJECT_MAP_WRONG", c.volume.image());
          }
        });
    all.put(
        "in a group that is gone",
        c -> {
          ClassCall group = ClassCall.content().u64(io.poolId()).string("fff" + random());
          c.set(
              "rbd_header." + c.volume.imageId(),
              "rbd_group_ref",
              ClassCall.content().structure(1, 1, group).input());
          c.expect("IN_GONE_GROUP", c.volume.image());
        });
    all.put(
        "in a group that does not have it",
        c -> {
          String name = "group-of-others-" + random();
          cluster.ceph().rbd("group", "create", "rbd/" + name);
          c.undo.add(() -> cluster.ceph().rbd("group", "rm", "rbd/" + name));
          ClassCall group =
              ClassCall.content().u64(io.poolId()).string(GroupHeader.id(io, name).orElseThrow());
          c.set(
              "rbd_header." + c.volume.imageId(),
              "rbd_group_ref",
              ClassCall.content().structure(1, 1, group).input());
          c.expect("IN_GONE_GROUP", c.volume.image());
        });
    all.put(
        "mark of a reclaim",
        c -> {
          c.set("rbd_header." + c.volume.imageId(), "metadata_csi.java.reclaimer", "forged");
          c.expect("RECLAIM_MARK_LEFT", c.volume.image());
        });
    all.put(
        "in the trash",
        c -> {
          cluster.ceph().rbd("trash", "mv", "rbd/" + c.volume.image());
          c.undo.add(() -> cluster.ceph().rbd("trash", "restore", "rbd/" + c.volume.imageId()));
          c.expect("IMAGE_IN_TRASH", c.volume.entry());
        });
    all.put(
        "lock of a client that is gone",
        c -> {
          String header = "rbd_header." + c.volume.imageId();
          c.save(header);
          cluster
              .ceph()
              .rados("-p", "rbd", "lock", "get", header, "rbd_lock", "--lock-cookie", "auto 1");
          c.expect("LOCK_WITHOUT_CLIENT", c.volume.image());
        });
  }

  private void addOrphans() {
    for (String suffix : List.of("", "-temp")) {
      all.put(
          "image without an entry" + suffix,
          c -> {
            String image = "csi-vol-" + random() + suffix;
            cluster.ceph().rbd("create", "--size=8M", "rbd/" + image);
            c.undo.add(() -> cluster.ceph().rbd("rm", "--no-progress", "rbd/" + image));
            c.expect(suffix.isEmpty() ? "IMAGE_WITHOUT_ENTRY" : "INTERMEDIATE_IMAGE_LEFT", image);
          });
    }
    all.put(
        "image of another program",
        c -> {
          String image = "volume-" + random();
          cluster.ceph().rbd("create", "--size=8M", "rbd/" + image);
          c.undo.add(() -> cluster.ceph().rbd("rm", "--no-progress", "rbd/" + image));
        });
    all.put(
        "image in the trash without a mark",
        c -> {
          String image = "csi-vol-" + random();
          cluster.ceph().rbd("create", "--size=8M", "rbd/" + image);
          String id = ImageId.find(new RbdPool(io), image).orElseThrow();
          cluster.ceph().rbd("trash", "mv", "rbd/" + image);
          c.undo.add(() -> cluster.ceph().rbd("trash", "rm", "--no-progress", "rbd/" + id));
          c.expect("TRASH_UNPROVEN", image);
        });
    all.put(
        "snapshot without an entry",
        c -> {
          String snapshot = "rbd/" + c.volume.image() + "@csi-snap-" + random();
          cluster.ceph().rbd("snap", "create", "--no-progress", snapshot);
          c.undo.add(() -> cluster.ceph().rbd("snap", "rm", "--no-progress", snapshot));
          c.expect("SNAPSHOT_WITHOUT_ENTRY", snapshot.substring(4));
        });
    all.put(
        "snapshot of a person",
        c -> {
          String snapshot = "rbd/" + c.volume.image() + "@before-upgrade";
          cluster.ceph().rbd("snap", "create", "--no-progress", snapshot);
          c.undo.add(() -> cluster.ceph().rbd("snap", "rm", "--no-progress", snapshot));
        });
    all.put(
        "unfinished snapshot of a group",
        c -> {
          groups()
              .forEach(
                  (name, id) -> {
                    String snapshot = "fffa" + c.values.between(1_000_000, 9_999_999);
                    ClassCall begun = ClassCall.content().string(snapshot).string("broken");
                    c.set(
                        "rbd_group_header." + id,
                        "snapshot_" + snapshot,
                        ClassCall.content().structure(1, 1, begun.u8(0).u32(0)).input());
                    c.expect("GROUP_SNAPSHOT_UNFINISHED", name + "@broken");
                  });
        });
    all.put(
        "data without a header",
        c -> {
          String prefix = "rbd_data.fffd" + c.values.between(1_000_000, 9_999_999);
          c.write(prefix + ".0000000000000007", new byte[4096]);
          c.expect("DATA_WITHOUT_HEADER", prefix);
        });
    all.put(
        "header of a group without a name",
        c -> {
          String id = "fffb" + c.values.between(1_000_000, 9_999_999);
          c.write("rbd_group_header." + id, new byte[0]);
          c.expect("GROUP_WITHOUT_NAME", "group id " + id);
        });
    all.put(
        "header without a name",
        c -> {
          String id = "fffc" + c.values.between(1_000_000, 9_999_999);
          SavedObject.of(io, "rbd_header." + c.volume.imageId()).copyTo(io, "rbd_header." + id);
          c.undo.add(() -> io.remove("rbd_header." + id));
          c.expect("HEADER_WITHOUT_NAME", "image id " + id)
              .expect("UNREADABLE", "image id " + id); // it names the data of the other one
        });
    all.put(
        "header of noise",
        c -> {
          String id = "fffe" + c.values.between(1_000_000, 9_999_999);
          c.write("rbd_header." + id, c.values.bytes(200));
          c.expect("UNREADABLE", "image id " + id);
        });
    all.put(
        "name without a header",
        c -> {
          String name = "csi-vol-" + random();
          c.write("rbd_id." + name, text("fff0123"));
          c.expect("NAME_WITHOUT_HEADER", name);
        });
    all.put(
        "damaged entry of the trash",
        c -> {
          String id = "ffff" + c.values.between(1_000_000, 9_999_999);
          c.set("rbd_trash", "id_" + id, c.values.bytes(10));
          c.expect("TRASH_ENTRY_DAMAGED", "image id " + id);
        });
  }

  /** The RBD groups of volume groups: their ids by their names. */
  private Map<String, String> groups() {
    Map<String, String> groups = new LinkedHashMap<>();
    OmapWalk.keys(
        io,
        "rbd_group_directory",
        "name_csi-vol-group-",
        (key, id) ->
            groups.put(
                key.substring("name_".length()), ClassOutput.decode(key, id, ClassOutput::string)));
    return groups;
  }

  private static String uuid(Snapshot snapshot) {
    return VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid().toString();
  }

  /** The only key of an object that begins so. */
  private String keyWith(String object, String prefix) {
    List<String> keys =
        SavedObject.of(io, object).content().orElseThrow().omap().keySet().stream()
            .filter(key -> key.startsWith(prefix))
            .toList();
    assertThat(keys).as(object).hasSize(1);
    return keys.get(0);
  }

  /** The entry of the volume group. */
  private String groupEntry() {
    String name = groups().keySet().iterator().next();
    return "csi.volume.group." + name.substring("csi-vol-group-".length());
  }

  private void addSnapshots() {
    ofSnapshots.put(
        "entry of a snapshot removed",
        c -> {
          Snapshot snapshot = cluster.snapshots().get(0);
          c.remove("csi.snap." + uuid(snapshot));
          c.expect("NAME_WITHOUT_ENTRY", "snapshot shot-0")
              .expect("IMAGE_WITHOUT_ENTRY", "csi-snap-" + uuid(snapshot));
        });
    ofSnapshots.put(
        "name of a snapshot removed",
        c -> {
          c.removeKey("csi.snaps.default", "csi.snap.shot-1");
          c.expect("ENTRY_WITHOUT_NAME", "csi.snap." + uuid(cluster.snapshots().get(1)));
        });
    ofSnapshots.put(
        "parent of a clone removed",
        c -> {
          String id = cluster.imageId(TestDriver.image(cluster.restored().get(2)));
          c.removeKey("rbd_header." + id, "parent");
          c.expect("CLONE_WITHOUT_PARENT", "image id " + id);
        });
    ofSnapshots.put(
        "parent of a copy removed",
        c -> {
          String id = cluster.imageId(TestDriver.image(cluster.copied().get(3)));
          c.removeKey("rbd_header." + id, "parent");
          c.expect("CLONE_WITHOUT_PARENT", "image id " + id);
        });
    ofSnapshots.put(
        "clones of a parent removed",
        c -> {
          String parent =
              "rbd_header." + cluster.imageId(TestDriver.image(cluster.snapshots().get(3)));
          c.removeKey(parent, keyWith(parent, "snap_children_"));
          c.expect("CLONE_UNKNOWN_TO_PARENT", TestDriver.image(cluster.restored().get(3)));
        });
    ofSnapshots.put(
        "snapshot of a parent removed",
        c -> {
          Snapshot snapshot = cluster.snapshots().get(4);
          String parent = "rbd_header." + cluster.imageId(TestDriver.image(snapshot));
          c.removeKey(parent, keyWith(parent, "snapshot_"));
          c.expect("SNAPSHOT_GONE", "csi.snap." + uuid(snapshot))
              .expect("PARENT_GONE", TestDriver.image(cluster.restored().get(4)));
        });
    ofSnapshots.put(
        "member of a group removed",
        c -> {
          String group = groups().values().iterator().next();
          String image = TestDriver.image(cluster.members().get(0));
          String key = String.format("image_%016x_%s", io.poolId(), cluster.imageId(image));
          c.removeKey("rbd_group_header." + group, key);
          c.expect("IN_GONE_GROUP", image).expect("GROUP_DIFFERS", groupEntry());
        });
    ofSnapshots.put(
        "group of a member removed",
        c -> {
          String image = TestDriver.image(cluster.members().get(1));
          c.removeKey("rbd_header." + cluster.imageId(image), "rbd_group_ref");
          c.expect("GROUP_DIFFERS", groupEntry());
        });
    ofSnapshots.put(
        "native snapshot of another id",
        c -> {
          Snapshot snapshot = cluster.natives().get(2);
          c.set("csi.snap." + uuid(snapshot), "csi.java.nativesnapshot", "123456");
          c.expect("SNAPSHOT_GONE", "csi.snap." + uuid(snapshot)); // that of its name stays
        });
  }
}
