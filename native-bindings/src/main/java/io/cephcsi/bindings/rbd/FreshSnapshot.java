package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.SnapshotId;
import io.cephcsi.bindings.rados.WriteOperation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A snapshot to be taken of an image that is only just being made, which nobody else knows. Its id
 * is asked for beforehand, so that the monitors allocate it together with that of another snapshot;
 * and it is taken by the calls of the object class {@code rbd} that librbd would make, without
 * opening the image.
 *
 * <pre>
 *   rbd_header.ID    get_features       u64 2^64-2 · u8 1  →  u64 features ...
 *                    get_data_pool      -                  →  i64 pool (-1: the image's own)
 *                    snapshot_add       string name · u64 snapshot · v1,1 (u32 0: a user's)
 * </pre>
 *
 * <p>Used by one thread. Closing gives an id back that was not used.
 */
public final class FreshSnapshot implements AutoCloseable {
  private static final long HEAD = -2;
  private static final byte[] NOTHING = {};
  // Operations say that it is a clone, or has clones or snapshots in the trash.
  private static final long SIMPLE =
      ImageFeature.LAYERING.mask()
          | ImageFeature.DEEP_FLATTEN.mask()
          | ImageFeature.OPERATIONS.mask();

  private final IoContext io;
  private final SnapshotId id;

  private FreshSnapshot(IoContext io, SnapshotId id) {
    this.io = io;
    this.id = id;
  }

  /** Asks for an id and returns at once. */
  public static FreshSnapshot prepare(RbdPool pool) {
    return new FreshSnapshot(pool.io(), SnapshotId.allocate(pool.io()));
  }

  /**
   * Takes the snapshot, if the image has no lock, object map, journal or data pool; two round
   * trips.
   *
   * @param imageId an image that nobody has open
   * @param name of the snapshot
   * @return false, and nothing was done, if librbd must take it
   * @throws CephException.AlreadyExists if the image has a snapshot of this name
   */
  public boolean take(String imageId, String name) {
    String header = "rbd_header." + imageId;
    if (!isSimple(header)) {
      return false;
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      ClassCall.of("snapshot_add")
          .string(name)
          .u64(id.await())
          .structure(1, 1, ClassCall.content().u32(0))
          .addTo(write);
      id.take(); // also when the answer is lost: what is given back must not be in use
      io.operate(header, write);
    }
    return true;
  }

  private boolean isSimple(String header) {
    try (ReadOperation read = new ReadOperation()) {
      var features =
          read.exec(ClassCall.CLASS, "get_features", ClassCall.content().u64(HEAD).u8(1).input());
      var dataPool = read.exec(ClassCall.CLASS, "get_data_pool", NOTHING);
      io.operate(header, read);
      return (number(features.get()) & ~SIMPLE) == 0 && number(dataPool.get()) == -1;
    }
  }

  private static long number(byte[] encoded) {
    return ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN).getLong();
  }

  @Override
  public void close() {
    id.close();
  }
}
