package io.cephcsi.testing;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * What the header of a clone says before it is flattened: that it has a parent, and how much of the
 * parent it and each of its snapshots show. Put back after the flattening, the clone is as librbd
 * leaves one when it is killed before the last step: the data are copied, the parent has forgotten
 * the clone, and the clone still names the parent.
 */
public final class CutOffHeader {
  private static final Set<String> KEYS = Set.of("parent", "features", "op_features", "flags");
  private static final String SNAPSHOT = "snapshot_";
  private static final int MAX_KEYS = 1000;

  private final String object;
  private final Map<String, byte[]> values = new HashMap<>();

  private CutOffHeader(String object) {
    this.object = object;
  }

  /** Reads it. */
  public static CutOffHeader read(IoContext io, String imageId) {
    CutOffHeader header = new CutOffHeader("rbd_header." + imageId);
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", MAX_KEYS);
      io.operate(header.object, read);
      page.get()
          .values()
          .forEach(
              (key, value) -> {
                if (KEYS.contains(key) || key.startsWith(SNAPSHOT)) {
                  header.values.put(key, value);
                }
              });
    }
    if (!header.values.containsKey("parent")) {
      throw new IllegalStateException("image id " + imageId + " is no clone");
    }
    return header;
  }

  /** Puts it back, byte by byte. */
  public void putBack(IoContext io) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.assertExists().omapSet(values));
    }
  }
}
