package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.SnapshotId;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.Optional;

/**
 * The first snapshot of an image that is being created and that no other client uses yet. The
 * monitors allocate its id ahead, together with that of another snapshot. The snapshot is added by
 * the calls of the object class {@code rbd} that librbd would make, without opening the image.
 *
 * <pre>
 *   rbd_header.ID    get_features       u64 2^64-2 · u8 1  →  u64 features ...
 *                    get_data_pool      -                  →  i64 pool (-1: the image's own)
 *                    snapshot_add       string name · u64 snapshot · v1,1 (u32 0: a user's)
 * </pre>
 *
 * <p>Used by one thread. Closing gives an id back that was not used.
 */
public final class InitialSnapshot implements AutoCloseable {
  // Operations say that it is a clone, or has clones or snapshots in the trash.
  private static final long SIMPLE =
      ImageFeature.LAYERING.mask()
          | ImageFeature.DEEP_FLATTEN.mask()
          | ImageFeature.OPERATIONS.mask();

  private final IoContext io;
  private final SnapshotId id;

  private InitialSnapshot(IoContext io, SnapshotId id) {
    this.io = io;
    this.id = id;
  }

  /** Asks for an id and returns at once. */
  public static InitialSnapshot prepare(RbdPool pool) {
    return new InitialSnapshot(pool.io(), SnapshotId.allocate(pool.io()));
  }

  /**
   * Takes the snapshot, if the image has no lock, object map, journal or data pool, and no snapshot
   * whose id is newer; two round trips.
   *
   * @param imageId an image that nobody has open
   * @param name of the snapshot
   * @return false, and nothing was done, if librbd must take it
   * @throws CephException.AlreadyExists if the image has a snapshot of this name
   */
  public boolean take(String imageId, String name) {
    return take(imageId, name, Optional.empty());
  }

  /**
   * As {@link #take(String, String)}, and notes something of the image with it.
   *
   * @param note what
   */
  public boolean take(String imageId, String name, HeaderAttribute note) {
    return take(imageId, name, Optional.of(note));
  }

  private boolean take(String imageId, String name, Optional<HeaderAttribute> note) {
    String header = ImageHeader.object(imageId);
    if (!isSimple(io, header)) {
      return false;
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      RbdClass.call("snapshot_add")
          .string(name)
          .u64(id.await())
          .structure(1, 1, ClassCall.content().u32(0))
          .addTo(write);
      note.ifPresent(noted -> noted.addTo(write));
      io.operate(header, write);
    } catch (CephException e) {
      if (e.errno() == Errno.ESTALE) {
        return false;
      }
      id.take(); // the answer may be lost: what is given back must not be in use
      throw e;
    }
    id.take();
    return true;
  }

  /**
   * Removes a snapshot that librbd cannot remove: its image cannot be opened, because the snapshot
   * that the image was cloned from is gone. Only of an image that has no lock, object map, journal
   * or data pool; three round trips.
   *
   * @param imageId an image that nobody can have open
   * @return false, and nothing was done, if the image is not so simple
   * @throws CephException.NotFound if it has no such snapshot
   * @throws CephException.Busy if the snapshot is protected, or clones need it
   */
  public static boolean remove(RbdPool pool, String imageId, long snapshotId) {
    IoContext io = pool.io();
    String header = ImageHeader.object(imageId);
    if (!isSimple(io, header)) {
      return false;
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      RbdClass.call("snapshot_remove").u64(snapshotId).addTo(write);
      io.operate(header, write);
    }
    SnapshotId.remove(io, snapshotId);
    return true;
  }

  private static boolean isSimple(IoContext io, String header) {
    try (ReadOperation read = new ReadOperation()) {
      var features = RbdClass.features().addTo(read);
      var dataPool = RbdClass.call("get_data_pool").addTo(read);
      io.operate(header, read);
      return (ClassCall.output(features.get()).getLong() & ~SIMPLE) == 0
          && ClassCall.output(dataPool.get()).getLong() == -1;
    }
  }

  @Override
  public void close() {
    id.close();
  }
}
