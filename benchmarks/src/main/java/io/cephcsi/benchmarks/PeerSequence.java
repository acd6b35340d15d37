package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.StaleVersionException;
import io.cephcsi.bindings.rados.WriteOperation;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * A change of a reference tracker in the steps of ceph-csi: getxattr, compound read, compound
 * write; from the start when another was faster.
 */
final class PeerSequence {
  private static final byte[] NORMAL = {1};

  private final IoContext io;
  private final String object;

  PeerSequence(IoContext io, String snapshotId) {
    this.io = io;
    this.object = "rt-backingsnapshot-" + snapshotId;
  }

  void add(String snapshotId, String key) {
    change(snapshotId, key, 1);
  }

  void remove(String snapshotId, String key) {
    change(snapshotId, key, -1);
  }

  private void change(String snapshotId, String key, int by) {
    while (true) {
      try {
        once(snapshotId, key, by);
        return;
      } catch (StaleVersionException e) {
        Thread.onSpinWait(); // the caller of ceph-csi would get ABORTED, and call again
      }
    }
  }

  private void once(String snapshotId, String key, int by) {
    requireVersion(io.getXattr(object, "csi.ceph.com/rt-version"));
    long version;
    int count;
    try (ReadOperation read = new ReadOperation()) {
      var data = read.read(0, Integer.BYTES);
      var keys = read.omapGetByKeys(List.of(snapshotId, key));
      version = io.operateVersioned(object, read);
      count = ByteBuffer.wrap(data.get()).getInt();
      if (keys.get().containsKey(key) == by > 0) {
        throw new IllegalStateException("unexpected state of " + key);
      }
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version);
      if (by > 0) {
        write.omapSet(key, NORMAL);
      } else {
        write.omapRemove(List.of(key));
      }
      write.writeFull(ByteBuffer.allocate(Integer.BYTES).putInt(count + by).array());
      io.operate(object, write);
    }
  }

  private static void requireVersion(byte[] version) {
    if (ByteBuffer.wrap(version).getInt() != 1) {
      throw new IllegalStateException("another version");
    }
  }
}
