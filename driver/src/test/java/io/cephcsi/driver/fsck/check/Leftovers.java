package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** What calls leave that are broken off and never repeated, with what a check must find. */
final class Leftovers {
  private final CheckedCluster cluster;
  private final IoContext io;
  private final RbdPool pool;
  private final Journal journal;
  private final Set<String> expected = new TreeSet<>();

  Leftovers(CheckedCluster cluster) {
    this.cluster = cluster;
    this.io = cluster.io();
    this.pool = new RbdPool(io);
    this.journal = new Journal(JournalKind.VOLUME, "default", io, io);
  }

  Set<String> expected() {
    return expected;
  }

  private UUID reserve(Map<String, String> attributes) {
    return journal
        .reserve("left-" + UUID.randomUUID(), uuid -> "csi-vol-" + uuid, attributes)
        .uuid();
  }

  /** A name is reserved, and no image made. */
  UUID reserve() {
    UUID uuid = reserve(Map.of("csi.java.maker", "1"));
    expected.add("CREATION_UNFINISHED csi.volume." + uuid);
    return uuid;
  }

  /** A deletion removed the image, and not the entry. */
  UUID beginDeletion() {
    UUID uuid =
        reserve(Map.of("csi.imageid", "fff01", "csi.java.deleting", "2026-01-01T00:00:00Z 1"));
    expected.add("DELETION_UNFINISHED csi.volume." + uuid);
    return uuid;
  }

  /** A clone made the image in between, and no more. */
  String makeIntermediate() {
    String volume = "csi-vol-" + UUID.randomUUID();
    String between = volume + "-temp";
    new HeaderAttribute("csi.java.between", volume).write(io, makeImage(between));
    expected.add("INTERMEDIATE_IMAGE_LEFT " + between);
    return between;
  }

  /** A deletion moved the image to the trash, and nobody came back to it. */
  String forget() {
    String forgotten = "csi-vol-" + UUID.randomUUID();
    String id = makeImage(forgotten);
    TrashMove.move(pool, forgotten, id);
    expected.add("TRASH_REMOVABLE " + forgotten);
    return forgotten;
  }

  /**
   * A move to the trash was broken off.
   *
   * @param inDirectory before the directory forgot the image, instead of after
   */
  String beginMove(boolean inDirectory) {
    String name = "csi-vol-" + UUID.randomUUID();
    String id = makeImage(name);
    SavedObject object = SavedObject.of(io, "rbd_id." + name);
    TrashMove.move(pool, name, id);
    object.restore(io);
    if (inDirectory) {
      try (WriteOperation write = new WriteOperation()) {
        write.omapSet("name_" + name, ClassCall.content().string(id).input());
        write.omapSet("id_" + id, ClassCall.content().string(name).input());
        io.operate("rbd_directory", write);
      }
    } else {
      expected.add("TRASH_REMOVABLE " + name);
    }
    expected.add("MOVE_TO_TRASH_UNFINISHED " + name);
    return name;
  }

  String makeImage(String name) {
    cluster.ceph().rbd("create", "--size=8M", "--image-feature=layering", "rbd/" + name);
    return ImageId.find(pool, name).orElseThrow();
  }

  /** The clone of a removed snapshot was removed, and the snapshot not. */
  String keepSnapshot() {
    String parent = "parent-" + UUID.randomUUID();
    String clone = "clone-" + UUID.randomUUID();
    String id = makeImage(parent);
    cluster.ceph().rbd("snap", "create", "--no-progress", "rbd/" + parent + "@s");
    cluster
        .ceph()
        .rbd("clone", "--rbd-default-clone-format=2", "rbd/" + parent + "@s", "rbd/" + clone);
    cluster.ceph().rbd("snap", "rm", "--no-progress", "rbd/" + parent + "@s");
    long snapshot = ImageHeader.read(io, id).orElseThrow().snapshotIds().get(0);
    String cloneId = ImageId.find(pool, clone).orElseThrow();
    ClassCall child = ClassCall.content().u64(io.poolId()).string(cloneId).string("");
    try (WriteOperation write = new WriteOperation()) {
      ClassCall.of("rbd", "child_detach").u64(snapshot).structure(2, 1, child).addTo(write);
      io.operate("rbd_header." + id, write);
    }
    for (String object : List.of("rbd_id." + clone, "rbd_header." + cloneId)) {
      io.remove(object);
    }
    try (WriteOperation write = new WriteOperation()) {
      io.operate("rbd_directory", write.omapRemove(List.of("name_" + clone, "id_" + cloneId)));
    }
    expected.add("TRASH_SNAPSHOT_WITHOUT_CLONE " + parent + "@" + snapshot);
    return parent;
  }
}
