package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdCase;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The list of a snapshot's clones is read, however many there are. */
class ManyClonesIT extends RbdCase {
  private static final int CLONES = 60_000;
  private static final int ID_BYTES = 14;

  /** u32 n · n × v1,1 (i64 pool · string image · string namespace). */
  private static byte[] clones(int count) {
    int each = Long.BYTES + Integer.BYTES + ID_BYTES + Integer.BYTES;
    ByteBuffer list =
        ByteBuffer.allocate(Integer.BYTES + count * (each + 6)).order(ByteOrder.LITTLE_ENDIAN);
    list.putInt(count);
    for (int i = 0; i < count; i++) {
      list.put(new byte[] {1, 1}).putInt(each).putLong(1).putInt(ID_BYTES);
      list.put(String.format("%014x", i).getBytes(US_ASCII)).putInt(0);
    }
    return list.array();
  }

  private static void put(String header, String key, byte[] value) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(header, write.omapSet(Map.of(key, value)));
    }
  }

  @Test
  void allOfThemAreRead() {
    create(PLAIN, 1);
    ceph.rbd("snap", "create", spec() + "@parent");
    long snapshot = rbdJson("snap", "ls", spec()).get(0).get("id").asLong();
    String id = ImageId.find(pool, name).orElseThrow();
    String key = String.format("snap_children_%016x", snapshot);
    put(ImageHeader.object(id), key, clones(CLONES));
    try {
      assertThat(ImageHeader.children(io, id, snapshot)).hasSize(CLONES).doesNotHaveDuplicates();
      ParentSnapshot parent = ParentSnapshot.read(io, id, snapshot).orElseThrow();
      assertThat(parent.exists()).isTrue();
      assertThat(parent.clones()).hasSize(CLONES);
    } finally {
      put(ImageHeader.object(id), key, clones(0));
      ceph.rbd("snap", "rm", spec() + "@parent");
      ceph.rbd("rm", spec());
    }
  }
}
