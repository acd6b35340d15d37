package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.TestCluster;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A journal in a RADOS namespace of its own for each test. */
abstract class JournalCase {
  static final TestCluster CLUSTER = TestCluster.shared();
  static final String DIRECTORY = "csi.volumes.default";
  static final Map<String, String> OWNER = Map.of("csi.volume.owner", "default");
  static RadosCluster connection;

  String namespace;
  IoContext pool;
  IoContext otherPool;
  Omaps omaps;
  Omaps otherOmaps;

  @BeforeAll
  static void connect() {
    connection = CLUSTER.connect();
  }

  @AfterAll
  static void disconnect() {
    connection.close();
  }

  @BeforeEach
  void namespace() {
    namespace = "journal-" + UUID.randomUUID();
    pool = connection.openPool(CLUSTER.pool(), namespace);
    otherPool = connection.openPool(CLUSTER.otherPool(), namespace);
    omaps = new Omaps(CLUSTER, CLUSTER.pool(), namespace);
    otherOmaps = new Omaps(CLUSTER, CLUSTER.otherPool(), namespace);
  }

  @AfterEach
  void close() {
    pool.close();
    otherPool.close();
  }

  Journal volumes() {
    return new Journal(JournalKind.VOLUME, "default", pool, pool);
  }

  static String volumeName(UUID uuid) {
    return "csi-vol-" + uuid;
  }

  JournalEntry reserve(Journal journal, String name) {
    return journal.reserve(name, JournalCase::volumeName, Map.of());
  }

  // Attempts

  Attempt begin() {
    return volumes().begin("pvc", JournalCase::volumeName, OWNER);
  }

  static void assertAborted(Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOf(VolumeException.class)
        .hasFieldOrPropertyWithValue("reason", VolumeException.Reason.ABORTED);
  }

  static void undo(Attempt attempt) {
    attempt.undo(() -> {});
  }
}
