package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.Map;
import java.util.Optional;

/** All that an object has, to be put back as it was. */
@SuppressWarnings("ArrayRecordComponent") // it is not compared
record SavedObject(String name, Optional<Content> content) {
  private static final int MAX = 1 << 20;

  @SuppressWarnings("ArrayRecordComponent")
  record Content(byte[] data, Map<String, byte[]> xattrs, Map<String, byte[]> omap) {}

  static SavedObject of(IoContext io, String name) {
    try (ReadOperation read = new ReadOperation()) {
      var xattrs = read.getXattrs();
      var omap = read.omapGetVals("", "", 10_000);
      io.operate(name, read);
      return new SavedObject(
          name, Optional.of(new Content(io.read(name, 0, MAX), xattrs.get(), omap.get().values())));
    } catch (CephException.NotFound e) {
      return new SavedObject(name, Optional.empty());
    }
  }

  /** Puts it back; an object that was not there is removed. */
  void restore(IoContext io) {
    try {
      io.remove(name);
    } catch (CephException.NotFound e) {
      // it was removed
    }
    content.ifPresent(saved -> write(io, name, saved));
  }

  /** Makes it, where nothing is. */
  void restoreNew(IoContext io) {
    write(io, name, content.orElseThrow());
  }

  /** Makes another object with the same content. */
  void copyTo(IoContext io, String other) {
    write(io, other, content.orElseThrow());
  }

  private static void write(IoContext io, String to, Content saved) {
    try (WriteOperation write = new WriteOperation()) {
      write.create();
      if (saved.data.length > 0) {
        write.writeFull(saved.data);
      }
      saved.xattrs.forEach(write::setXattr);
      if (!saved.omap.isEmpty()) {
        write.omapSet(saved.omap);
      }
      io.operate(to, write);
    }
  }
}
