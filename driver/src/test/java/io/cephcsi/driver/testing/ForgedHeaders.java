package io.cephcsi.driver.testing;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapPage;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What somebody who may write to a pool can put into the headers there.
 *
 * @param cluster the cluster
 * @param pool the pool
 */
public record ForgedHeaders(TestCluster cluster, String pool) {
  private void write(String object, ClassCall call) {
    try (RadosCluster connection = cluster.connect();
        IoContext io = connection.openPool(pool);
        WriteOperation write = new WriteOperation()) {
      call.addTo(write);
      io.operate(object, write);
    }
  }

  private static ClassCall call(String method) {
    return ClassCall.of("rbd", method);
  }

  /** Lists clones of a snapshot, and no others, also of one in the trash namespace. */
  public void clones(String imageId, long snapshotId, List<ImageLink> clones) {
    ClassCall list = ClassCall.content().u32(clones.size());
    for (ImageLink clone : clones) {
      ClassCall content = ClassCall.content().u64(clone.poolId()).string(clone.imageId());
      list.structure(1, 1, content.string(clone.namespace()));
    }
    String key = String.format(Locale.ROOT, "snap_children_%016x", snapshotId);
    new Omaps(cluster, pool, "").set("rbd_header." + imageId, key, list.input());
  }

  /** Has an image say that its data are objects of any pool. */
  public void data(String imageId, long poolId, String prefix) {
    Omaps omaps = new Omaps(cluster, pool, "");
    omaps.set("rbd_header." + imageId, "object_prefix", ClassCall.content().string(prefix).input());
    omaps.set("rbd_header." + imageId, "data_pool_id", ClassCall.content().u64(poolId).input());
  }

  /** Has an image say that it was cloned from a snapshot. */
  public void parent(String imageId, ImageLink parent, long snapshotId, long overlap) {
    write("rbd_header." + imageId, attach(parent, snapshotId, overlap));
  }

  /** As {@link #parent(String, ImageLink, long, long)}, wherever it is. */
  public static void parent(
      IoContext io, String imageId, ImageLink parent, long snapshotId, long overlap) {
    try (WriteOperation write = new WriteOperation()) {
      attach(parent, snapshotId, overlap).addTo(write);
      io.operate("rbd_header." + imageId, write);
    }
  }

  private static ClassCall attach(ImageLink parent, long snapshotId, long overlap) {
    ClassCall link = ClassCall.content().u64(parent.poolId()).string(parent.namespace());
    link.string(parent.imageId()).u64(snapshotId);
    return call("parent_attach").structure(1, 1, link).u64(overlap).u8(1); // also where it has one
  }

  /**
   * Headers that librbd believes, and that end a process by it, beside the id ({@link #otherId}):
   * each by its keys.
   */
  public static List<Map<String, byte[]>> layouts(byte[] features) {
    byte[] striped = features.clone();
    striped[0] |= 2; // RBD_FEATURE_STRIPINGV2
    return List.of(
        Map.of("order", new byte[] {40}),
        Map.of("features", striped, "stripe_unit", number(1L << 23), "stripe_count", number(1)),
        Map.of("features", striped, "stripe_unit", number(4096), "stripe_count", number(1L << 32)));
  }

  /** A number as a header has it. */
  public static byte[] number(long value) {
    return ClassCall.content().u64(value).input();
  }

  /**
   * Gives an image another id, of any form: its name, its header and the directory say so. No
   * object has a name with a zero byte: then there is no header.
   *
   * @return ends that
   */
  public static Runnable otherId(IoContext io, String name, String id, String otherId) {
    io.writeFull("rbd_id." + name, text(otherId));
    set(io, "rbd_directory", "name_" + name, text(otherId));
    boolean header = otherId.indexOf('\0') < 0;
    if (header) {
      try (ReadOperation read = new ReadOperation();
          WriteOperation write = new WriteOperation()) {
        ReadOperation.Result<OmapPage> page = read.omapGetVals("", "", 1000);
        io.operate("rbd_header." + id, read);
        io.operate("rbd_header." + otherId, write.create().omapSet(page.get().values()));
      }
      set(io, "rbd_header." + otherId, "object_prefix", text("rbd_data." + otherId));
      set(io, "rbd_directory", "id_" + otherId, text(name));
    }
    return () -> {
      io.writeFull("rbd_id." + name, text(id));
      set(io, "rbd_directory", "name_" + name, text(id));
      if (header) {
        io.remove("rbd_header." + otherId);
        try (WriteOperation write = new WriteOperation()) {
          io.operate("rbd_directory", write.omapRemove(List.of("id_" + otherId)));
        }
      }
    };
  }

  private static void set(IoContext io, String object, String key, byte[] value) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapSet(key, value));
    }
  }

  private static byte[] text(String text) {
    return ClassCall.content().string(text).input();
  }

  /** Has an image say that it was not cloned. */
  public void noParent(String imageId) {
    write("rbd_header." + imageId, call("parent_detach"));
  }

  /**
   * Has an image say that it is being migrated from another one, or from elsewhere.
   *
   * @return ends that
   */
  public Runnable migration(String imageId, ImageLink other, String source) {
    Omaps omaps = new Omaps(cluster, pool, "");
    String header = "rbd_header." + imageId;
    byte[] features = omaps.bytes(header, "features");
    byte[] migrating = features.clone();
    migrating[1] |= 2; // RBD_FEATURE_MIGRATING
    ClassCall from = ClassCall.content().u8(2).u64(other.poolId()).string(other.namespace());
    from.string("").string(other.imageId()).u32(0).u64(0).u8(0).u8(0).u8(2).string("").u8(0);
    omaps.set(
        header, "migration", ClassCall.content().structure(3, 3, from.string(source)).input());
    omaps.set(header, "features", migrating);
    return () -> {
      omaps.set(header, "features", features);
      omaps.removeKey(header, "migration");
    };
  }

  /** Lists an image in a group. */
  public void member(String groupId, GroupMember member) {
    ClassCall image = ClassCall.content().string(member.imageId()).u64(member.poolId());
    ClassCall status = ClassCall.content().structure(1, 1, image).u8(0);
    write("rbd_group_header." + groupId, call("group_image_set").structure(1, 1, status));
  }

  /** Takes an image off the list of a group. */
  public void noMember(String groupId, GroupMember member) {
    ClassCall image = ClassCall.content().string(member.imageId()).u64(member.poolId());
    write("rbd_group_header." + groupId, call("group_image_remove").structure(1, 1, image));
  }

  /** Has an image say that it is in a group, or no more. */
  public void link(boolean linked, String imageId, GroupLink link) {
    write(
        "rbd_header." + imageId,
        call(linked ? "image_group_add" : "image_group_remove")
            .structure(1, 1, ClassCall.content().u64(link.poolId()).string(link.groupId())));
  }

  /** Makes an image that has the header and the id of one in another pool. */
  public void twin(String name, String otherPool, String imageId) {
    try (RadosCluster connection = cluster.connect();
        IoContext from = connection.openPool(otherPool);
        IoContext io = connection.openPool(pool);
        ReadOperation read = new ReadOperation();
        WriteOperation header = new WriteOperation();
        WriteOperation id = new WriteOperation()) {
      ReadOperation.Result<OmapPage> page = read.omapGetVals("", "", 1000);
      from.operate("rbd_header." + imageId, read);
      io.operate("rbd_header." + imageId, header.create().omapSet(page.get().values()));
      call("set_id").string(imageId).addTo(id.create());
      io.operate("rbd_id." + name, id);
    }
    write("rbd_directory", call("dir_add_image").string(name).string(imageId));
  }
}
