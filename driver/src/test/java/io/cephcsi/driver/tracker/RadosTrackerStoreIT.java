package io.cephcsi.driver.tracker;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.testing.RawObjects;
import io.cephcsi.testing.TestCluster;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

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
