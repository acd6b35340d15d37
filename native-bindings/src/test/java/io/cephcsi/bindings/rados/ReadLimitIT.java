package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.testing.TestCluster;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is too large for the heap is not copied there, and what others need is. */
class ReadLimitIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final String OBJECT = "large";
  private static final int MOST = 64 << 10;
  private static final byte[] HUGE = new byte[50_000_000];

  private RadosCluster cluster;
  private IoContext io;

  @BeforeEach
  void open() {
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool(), "limit-" + UUID.randomUUID());
  }

  @AfterEach
  void close() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
  }

  private void put(String key, byte[] value) {
    put(Map.of(key, value));
  }

  private void put(Map<String, byte[]> keys) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(OBJECT, write.create().omapSet(keys));
    }
  }

  private Map<String, Integer> walk() {
    Map<String, Integer> sizes = new TreeMap<>();
    assertThat(OmapWalk.keys(io, OBJECT, "", (key, value) -> sizes.put(key, value.length)))
        .isTrue();
    return sizes;
  }

  private static void assertTooLarge(String what, ReadOperation.Result<?> result) {
    assertThatThrownBy(result::get)
        .isInstanceOf(CephException.TooLarge.class)
        .hasMessageContaining(OBJECT)
        .hasMessageContaining("EFBIG")
        .hasMessageContaining(what);
  }

  @Test
  void aStepThatFindsTooMuchFailsAndTheOthersDoNot() {
    put("huge", HUGE);
    put("more", new byte[MOST + 1]);
    put("most", new byte[MOST]);
    try (ReadOperation read = new ReadOperation()) {
      var before = read.omapGetByKeys(List.of("most"));
      var huge = read.omapGetByKeys(List.of("huge"));
      var more = read.omapGetByKeys(List.of("more"));
      var page = read.omapGetVals("", "", 10);
      var small = read.omapGetSmallByKeys(List.of("huge", "most"));
      io.operate(OBJECT, read);
      assertThat(before.get()).containsOnlyKeys("most");
      assertThat(before.get().get("most")).hasSize(MOST);
      assertTooLarge("key huge of 4 bytes has a value of 50000000 bytes", huge);
      assertTooLarge("key more of 4 bytes has a value of 65537 bytes", more);
      assertTooLarge("key huge", page);
      assertThat(small.get().get("huge")).isEmpty();
      assertThat(small.get().get("most")).hasSize(MOST);
    }
  }

  @Test
  void allResultsTogetherHaveALimitThatCanBeRaised() {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < 20; i++) {
      keys.put("key-" + i, new byte[60_000]);
    }
    put(keys);
    try (ReadOperation read = new ReadOperation()) {
      var all = read.omapGetByKeys(keys.keySet());
      io.operate(OBJECT, read);
      assertTooLarge("has a value of 60000 bytes", all);
    }
    put("key-0", new byte[1_000_000]);
    try (ReadOperation read = new ReadOperation().allow(4 << 20)) {
      var all = read.omapGetByKeys(keys.keySet());
      io.operate(OBJECT, read);
      assertThat(all.get()).hasSize(20);
      assertThat(all.get().get("key-0")).hasSize(1_000_000);
    }
  }

  @Test
  void aPageEndsWhereThereIsNoMoreRoomAndAWalkGoesOn() {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < 100; i++) {
      keys.put(String.format("key-%03d", i), new byte[30_000]);
    }
    put(keys);
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", 1000);
      io.operate(OBJECT, read);
      assertThat(page.get().values()).hasSizeBetween(30, 40);
      assertThat(page.get().more()).isTrue();
      assertThat(page.get().last())
          .isEqualTo(String.format("key-%03d", page.get().values().size() - 1));
    }
    assertThat(walk()).hasSize(100).containsOnlyKeys(keys.keySet());
    assertThat(walk().values()).containsOnly(30_000);
  }

  @Test
  void whatAPageTakesInAnyCaseMakesNoRoomForMore() {
    try (WriteOperation write = new WriteOperation()) {
      for (int i = 0; i < 17; i++) {
        write.setXattr("attribute-" + i, new byte[61_000]); // 10 KB less than all may have
      }
      io.operate(OBJECT, write.create());
    }
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (int i = 0; i < 100; i++) {
      keys.put(String.format("key-%03d", i), new byte[30_000]);
    }
    put(keys);
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      var page = read.omapGetVals("", "", 1000);
      io.operate(OBJECT, read);
      assertThat(attributes.get()).hasSize(17);
      assertThat(page.get().values()).containsOnlyKeys("key-000");
      assertThat(page.get().more()).isTrue();
    }
  }

  @Test
  void aWalkVisitsWhatIsTooLargeAsDamageAndGoesOnBehindIt() {
    put("a", "small".getBytes(UTF_8));
    put("huge-1", HUGE);
    put("huge-2", HUGE);
    put("huge-3", HUGE);
    String key = "k".repeat(200_000);
    put(key + "1", new byte[5]);
    put(key + "2", new byte[5]);
    put("z", "small".getBytes(UTF_8));
    assertThat(walk())
        .isEqualTo(
            Map.of("a", 5, "huge-1", 0, "huge-2", 0, "huge-3", 0, "k".repeat(MOST), 0, "z", 5));
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetValsBehind("j", "", 1);
      io.operate(OBJECT, read);
      try (ReadOperation next = new ReadOperation()) {
        var rest = next.omapGetValsBehind(page.get().last(), "", 10);
        io.operate(OBJECT, next);
        assertThat(rest.get().values()).containsOnlyKeys("z");
      }
    }
  }

  @Test
  void anAttributeHasALimitToo() {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(OBJECT, write.create().setXattr("small", new byte[MOST]));
    }
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      io.operate(OBJECT, read);
      assertThat(attributes.get().get("small")).hasSize(MOST);
    }
    assertThat(io.getXattr(OBJECT, "small")).hasSize(MOST);
    try (WriteOperation write = new WriteOperation()) {
      io.operate(OBJECT, write.setXattr("huge", HUGE));
    }
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      io.operate(OBJECT, read);
      assertTooLarge("key huge", attributes);
    }
    assertThatThrownBy(() -> io.getXattr(OBJECT, "huge"))
        .isInstanceOf(CephException.TooLarge.class);
  }
}
