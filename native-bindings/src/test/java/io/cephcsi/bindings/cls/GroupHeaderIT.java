package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The list of a group's images ends, whatever is in the header. */
class GroupHeaderIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final String GROUP = "1234";
  private static final String HEADER = "rbd_group_header." + GROUP;
  private static final byte[] ATTACHED = {0};

  private RadosCluster cluster;
  private IoContext io;

  @BeforeEach
  void open() {
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool(), "group-" + UUID.randomUUID());
  }

  @AfterEach
  void close() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
  }

  private void put(int from, int to, int idBytes) {
    Map<String, byte[]> members = new HashMap<>();
    for (int i = from; i < to; i++) {
      String id = String.format("%08d", i) + "x".repeat(idBytes - 8);
      members.put(String.format("image_%016x_%s", 1, id), ATTACHED);
    }
    try (WriteOperation write = new WriteOperation()) {
      io.operate(HEADER, write.create().omapSet(members));
    }
  }

  /** v1,1 (v1,1 (string image · i64 pool) · u8 state), of an id that is no text. */
  private static byte[] member(String id) {
    int inner = Integer.BYTES + id.length() + Long.BYTES;
    return ByteBuffer.allocate(inner + 13)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(new byte[] {1, 1})
        .putInt(inner + 7)
        .put(new byte[] {1, 1})
        .putInt(inner)
        .putInt(id.length())
        .put(id.getBytes(ISO_8859_1))
        .putLong(1)
        .put(ATTACHED)
        .array();
  }

  @Test
  void imagesOfSeveralPagesAreAllRead() {
    put(0, 2500, 13);
    assertThat(GroupHeader.images(io, GROUP)).hasSize(2500).doesNotHaveDuplicates();
    put(2500, 3000, 13);
    assertThat(GroupHeader.images(io, GROUP)).hasSize(3000).doesNotHaveDuplicates();
  }

  @Test
  void moreThanFitsIsAnError() {
    for (int i = 0; i < 6000; i += 1000) {
      put(i, i + 1000, 900);
    }
    assertThatThrownBy(() -> GroupHeader.images(io, GROUP))
        .isInstanceOf(CephException.TooLarge.class)
        .hasMessageContaining(GROUP)
        .hasMessageContaining("4194304");
  }

  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void idsThatAreNoTextAreAnError() {
    try (WriteOperation write = new WriteOperation()) {
      write.create();
      for (int i = 0; i < 1100; i++) {
        write.exec("rbd", "group_image_set", member(String.format("\u00ff%08d", i)));
      }
      io.operate(HEADER, write);
    }
    assertThatThrownBy(() -> GroupHeader.images(io, GROUP))
        .isInstanceOf(CephException.class)
        .hasMessageContaining("EBADMSG")
        .hasMessageContaining("damaged");
  }
}
