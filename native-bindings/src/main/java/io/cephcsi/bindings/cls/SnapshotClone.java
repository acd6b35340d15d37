package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.EnumSet;

/**
 * Clones a snapshot by its id, whatever kind it is, by the same calls of the object class {@code
 * rbd} as a clone of format 2, in the same order. {@code rbd_clone3} knows snapshots of users only;
 * {@code rbd_clone4}, which takes ids, came with Ceph 20.
 *
 * <pre>
 *   rbd_header.PARENT   get_size u64 snapshot, get_features
 *   (the clone)         is made as an empty image of that size
 *   rbd_header.CLONE    parent_attach    v1,1 (i64 pool · string namespace · string image · u64
 *                                        snapshot) · u64 overlap · u8 0
 *                       op_features_set  u64 2 (a clone) · u64 2
 *   rbd_header.PARENT   child_attach     u64 snapshot · v2,1 (i64 pool · string image · string
 *                                        namespace)
 * </pre>
 *
 * <p>The OSD refuses to attach a child to a snapshot that does not exist, so a clone never refers
 * to a missing parent. After a crash between the calls an image is left that has to be removed, as
 * with librbd.
 */
public final class SnapshotClone {
  private final RbdPool parentPool;
  private final String parentId;
  private final long snapshotId;

  SnapshotClone(RbdPool parentPool, String parentId, long snapshotId) {
    this.parentPool = parentPool;
    this.parentId = parentId;
    this.snapshotId = snapshotId;
  }

  /**
   * Makes a clone, with the features layering and deep-flatten, as {@link RbdPool#cloneImage} does
   * with format 2: such as one of a part of a group's snapshot.
   *
   * @param parentPool the pool of the image
   * @param imageId the image's id; it may be in the trash
   * @param pool where the clone is made; the same, or another of the same connection
   * @return the id of the clone
   * @throws CephException.NotFound if there is no such image or snapshot
   * @throws CephException.AlreadyExists if the clone's name is taken
   */
  public static String make(
      RbdPool parentPool, String imageId, long snapshotId, RbdPool pool, String clone) {
    return new SnapshotClone(parentPool, imageId, snapshotId).make(pool, clone);
  }

  private String make(RbdPool pool, String name) {
    Parent parent = parent();
    String id =
        PreparedCreation.create(
            pool,
            name,
            parent.size(),
            ImageOptions.builder()
                .features(EnumSet.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN))
                .objectSizeBytes(1L << parent.order())
                .build());
    attach(pool, id, parent.size());
    return id;
  }

  /** Makes an empty image a clone of the snapshot; {@code size} is that of both, in bytes. */
  void attach(RbdPool pool, String id, long size) {
    IoContext parentIo = parentPool.io();
    ClassCall link =
        ClassCall.content()
            .u64(parentIo.poolId())
            .string(parentIo.namespace())
            .string(parentId)
            .u64(snapshotId);
    write(
        pool.io(),
        id,
        RbdClass.call("parent_attach").structure(1, 1, link).u64(size).u8(0),
        // Before the parent lists the clone, so that its removal always detaches it from the
        // parent.
        RbdClass.call("op_features_set").u64(RbdClass.CLONE_CHILD).u64(RbdClass.CLONE_CHILD));
    ClassCall child =
        ClassCall.content().u64(pool.io().poolId()).string(id).string(pool.io().namespace());
    write(parentIo, parentId, RbdClass.call("child_attach").u64(snapshotId).structure(2, 1, child));
  }

  private Parent parent() {
    try (ReadOperation read = new ReadOperation()) {
      var size = RbdClass.call("get_size").u64(snapshotId).addTo(read);
      var features = RbdClass.features().addTo(read);
      parentPool.io().operate(ImageHeader.object(parentId), read);
      if ((ClassCall.output(features.get()).getLong() & ImageFeature.LAYERING.mask()) == 0) {
        throw ReturnCode.exception(
            -Errno.EINVAL.number(),
            "clone",
            parentPool.describe(parentId),
            "the image does not have the feature layering");
      }
      return new Parent(
          ClassCall.output(size.get()).get(0), ClassCall.output(size.get()).getLong(1));
    }
  }

  private static void write(IoContext io, String imageId, ClassCall... calls) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      for (ClassCall call : calls) {
        call.addTo(write);
      }
      io.operate(ImageHeader.object(imageId), write);
    }
  }

  /** The order of the parent's objects, and its size in bytes at the snapshot. */
  private record Parent(int order, long size) {}
}
