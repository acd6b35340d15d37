package io.cephcsi.driver.tracker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.testing.RawObjects;
import io.cephcsi.testing.TestCluster;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RadosTrackerStoreIT extends TrackerStoreContract {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String NAMESPACE = "tracker-store-" + UUID.randomUUID();

  private static RadosCluster connection;
  private static IoContext pool;
  private static RawObjects objects;

  @BeforeAll
  static void connect() {
    connection = CLUSTER.connect();
    pool = connection.openPool(CLUSTER.pool(), NAMESPACE);
    objects = new RawObjects(CLUSTER, pool);
  }

  @AfterAll
  static void disconnect() {
    pool.close();
    connection.close();
  }

  private static Map<String, byte[]> references(int from, int to, int keyBytes) {
    Map<String, byte[]> references = new HashMap<>();
    for (int i = from; i < to; i++) {
      references.put(String.format("%05d", i) + "x".repeat(keyBytes - 5), new byte[] {1});
    }
    return references;
  }

  private static void create(String tracker, int count) {
    try (WriteOperation write = new WriteOperation()) {
      write.setXattr(TrackerCodec.VERSION_XATTR, TrackerCodec.version());
      pool.operate(tracker, write.writeFull(TrackerCodec.data(count)));
    }
  }

  private static void add(String tracker, Map<String, byte[]> references) {
    try (WriteOperation write = new WriteOperation()) {
      pool.operate(tracker, write.omapSet(references));
    }
  }

  private void assertTooMany(String tracker) {
    assertThatThrownBy(() -> store().readAll(tracker))
        .isInstanceOf(TrackerFormatException.class)
        .hasMessageContaining(tracker)
        .hasMessageContaining("more than 4194304 bytes");
  }

  @Test
  void moreReferencesThanFitAreAnError() {
    String large = "rt-large-" + UUID.randomUUID();
    create(large, 100);
    for (int i = 0; i < 100; i += 10) {
      add(large, references(i, i + 10, 60_000));
    }
    assertTooMany(large);

    String many = "rt-many-" + UUID.randomUUID();
    create(many, 70_000);
    for (int i = 0; i < 70_000; i += 10_000) {
      add(many, references(i, i + 10_000, 5));
    }
    assertTooMany(many);
  }

  @Test
  void aReferenceThatIsTooLargeIsDamage() {
    String tracker = "rt-key-" + UUID.randomUUID();
    create(tracker, 1);
    add(tracker, references(0, 1, 100_000));
    assertThatThrownBy(() -> store().readAll(tracker))
        .isInstanceOf(TrackerFormatException.class)
        .hasMessageContaining("unknown value")
        .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(300));
  }

  @Test
  void aValueThatIsTooLargeIsDamageOfItsKey() {
    String tracker = "rt-value-" + UUID.randomUUID();
    create(tracker, 2);
    add(tracker, Map.of("small", new byte[] {1}, "large", new byte[70_000]));
    assertThat(store().read(tracker, List.of("small"))).isPresent();
    assertThatThrownBy(() -> store().read(tracker, List.of("small", "large")))
        .isInstanceOf(TrackerFormatException.class)
        .hasMessageContaining(tracker);
    assertThatThrownBy(() -> store().readAll(tracker)).isInstanceOf(TrackerFormatException.class);

    String attributes = "rt-xattr-" + UUID.randomUUID();
    create(attributes, 1);
    try (WriteOperation write = new WriteOperation()) {
      pool.operate(attributes, write.setXattr("filler", new byte[70_000]));
    }
    assertThatThrownBy(() -> store().read(attributes, List.of("small")))
        .isInstanceOf(TrackerFormatException.class)
        .hasMessageContaining(attributes);
  }

  /** A page has room for 15 of these keys, which only C can write. */
  @Test
  @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void keysThatAreNoTextAreReadOnce() throws Exception {
    String tracker = "rt-bytes-" + UUID.randomUUID();
    create(tracker, 20);
    String set =
        "filler=$(head -c 65000 /dev/zero | tr '\\0' x); for i in {10..29}; do"
            + " rados -c \"$0\" -p \"$1\" -N \"$2\" setomapval \"$3\" $'\\xff'\"$i$filler\" $'\\x01'"
            + " || exit; done";
    Process process =
        new ProcessBuilder(
                "bash", "-c", set, CLUSTER.conf().toString(), CLUSTER.pool(), NAMESPACE, tracker)
            .inheritIO()
            .start();
    assertThat(process.waitFor()).isZero();
    TrackerState state = store().readAll(tracker).orElseThrow();
    assertThat(state.normalReferences()).isEqualTo(20);
  }

  @Override
  TrackerStore store() {
    return new RadosTrackerStore(pool);
  }

  @Override
  void putRaw(String object, RawObject bytes) {
    objects.put(object, bytes);
  }

  @Override
  Optional<RawObject> raw(String object) {
    return objects.get(object);
  }
}
