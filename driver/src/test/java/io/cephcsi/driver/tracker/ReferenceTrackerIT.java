package io.cephcsi.driver.tracker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.RawObjects;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReferenceTrackerIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String SNAPSHOT =
      "0001-0003-bar-0000000000000001-13a198ab-7cc0-4c98-9f50-ced4cf263bf9";
  private static final String OBJECT = "rt-backingsnapshot-" + SNAPSHOT;
  private static final String SHALLOW_1 = "csi-vol-24776772-523e-4873-a6b8-4e9657f54dc3";
  private static final String SHALLOW_2 = "csi-vol-057297b1-4af5-4753-b56a-dca2ffa2b036";
  private static final int THREADS = 64;

  private RadosCluster connection;
  private IoContext pool;

  @BeforeEach
  void connect() {
    connection = CLUSTER.connect();
    pool = connection.openPool(CLUSTER.pool(), "tracker-" + UUID.randomUUID());
  }

  @AfterEach
  void disconnect() {
    pool.close();
    connection.close();
  }

  private ReferenceTracker another() {
    return new ReferenceTracker(new RadosTrackerStore(pool));
  }

  @Test
  void theSameCallsLeaveTheSameBytesAsCephCsi() {
    ReferenceTracker tracker = new Trackers().in(pool);
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, SHALLOW_1));
    assertBytes("CephFS shallow CreateVolume shallow-1 from fsnap-1");
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, SHALLOW_2));
    assertBytes("CephFS shallow CreateVolume shallow-2 from fsnap-1");
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertBytes("CephFS DeleteSnapshot fsnap-1 while two shallow volumes refer to it");
    tracker.remove(SNAPSHOT, SHALLOW_1);
    assertBytes("CephFS DeleteVolume shallow-1");
    assertThat(tracker.remove(SNAPSHOT, SHALLOW_2)).isEqualTo(RemoveResult.LAST);
    assertThat(pool.objects()).isEmpty();
  }

  private void assertBytes(String call) {
    assertThat(new RawObjects(CLUSTER, pool).get(OBJECT))
        .as(call)
        .contains(Golden.trackers(call).get(OBJECT));
  }

  @Test
  void cephCsisTrackerIsCarriedOnToItsEnd() {
    String call = "CephFS DeleteSnapshot fsnap-1 while two shallow volumes refer to it";
    new RawObjects(CLUSTER, pool).put(OBJECT, Golden.trackers(call).get(OBJECT));
    ReferenceTracker tracker = another();
    assertThat(tracker.snapshotIds()).containsExactly(SNAPSHOT);
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "csi-vol-3")).added())
        .containsExactly("csi-vol-3");
    assertThat(tracker.remove(SNAPSHOT, SHALLOW_1)).isEqualTo(RemoveResult.REMAINING);
    assertThat(another().remove(SNAPSHOT, SHALLOW_2)).isEqualTo(RemoveResult.REMAINING);
    assertThat(tracker.remove(SNAPSHOT, "csi-vol-3")).isEqualTo(RemoveResult.LAST);
    assertThat(pool.objects()).isEmpty();
  }

  @Test
  void theTrackersOfAPoolAreShared() {
    Trackers trackers = new Trackers();
    assertThat(trackers.in(pool)).isSameAs(trackers.in(pool));
  }

  @Test
  void manyThreadsOfOneProcessAllSucceed() throws Exception {
    ReferenceTracker tracker = another();
    manyAllSucceed(thread -> tracker);
  }

  @Test
  void manyThreadsOfEightProcessesAllSucceed() throws Exception {
    List<ReferenceTracker> trackers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      trackers.add(another());
    }
    manyAllSucceed(thread -> trackers.get(thread % trackers.size()));
  }

  @Test
  void asManyProcessesAllSucceed() throws Exception {
    List<ReferenceTracker> trackers = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      trackers.add(another());
    }
    manyAllSucceed(trackers::get);
  }

  /** Each thread adds its key, all at once to a missing tracker, and then takes it away. */
  private void manyAllSucceed(IntFunction<ReferenceTracker> trackerOf) throws Exception {
    List<AddResult> added =
        atOnce(
            thread -> () -> trackerOf.apply(thread).add(SNAPSHOT, List.of(SNAPSHOT, "k" + thread)));
    assertThat(added).filteredOn(addition -> addition.added().contains(SNAPSHOT)).hasSize(1);
    for (int i = 0; i < THREADS; i++) {
      assertThat(added.get(i).added()).contains("k" + i);
    }
    TrackerState full = another().read(SNAPSHOT).orElseThrow();
    assertThat(full.count()).isEqualTo(THREADS + 1).isEqualTo(full.normalReferences());

    assertThat(trackerOf.apply(0).mask(SNAPSHOT, SNAPSHOT)).isEqualTo(RemoveResult.REMAINING);
    List<RemoveResult> removed =
        atOnce(thread -> () -> trackerOf.apply(thread).remove(SNAPSHOT, "k" + thread));
    assertThat(removed).filteredOn(RemoveResult.LAST::equals).hasSize(1);
    assertThat(removed).filteredOn(RemoveResult.REMAINING::equals).hasSize(THREADS - 1);
    assertThat(pool.objects()).isEmpty();
  }

  private static <T> List<T> atOnce(IntFunction<Callable<T>> calls) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      CyclicBarrier start = new CyclicBarrier(THREADS);
      List<Future<T>> running = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Callable<T> call = calls.apply(i);
        running.add(
            threads.submit(
                () -> {
                  start.await();
                  return call.call();
                }));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> each : running) {
        results.add(each.get());
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void addsAndRemovesMixedByManyKeepTheCount() throws Exception {
    ReferenceTracker tracker = another();
    ReferenceTracker other = another();
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    for (int i = 0; i < THREADS; i += 2) {
      tracker.add(SNAPSHOT, List.of("k" + i));
    }
    atOnce(
        thread ->
            () -> {
              ReferenceTracker mine = thread % 4 < 2 ? tracker : other;
              return thread % 2 == 0
                  ? mine.remove(SNAPSHOT, "k" + thread)
                  : mine.add(SNAPSHOT, List.of("k" + thread));
            });
    TrackerState state = another().read(SNAPSHOT).orElseThrow();
    assertThat(state.count()).isEqualTo(THREADS / 2 + 1).isEqualTo(state.normalReferences());
    assertThat(state.references()).containsKey("k1").doesNotContainKey("k0");
  }

  @Test
  void aPoolThatIsGoneIsAnErrorAndNoMissingTracker() {
    String name = "tracker-gone-" + UUID.randomUUID();
    CLUSTER.ceph("osd", "pool", "create", name, "1");
    try (IoContext gone = connection.openPool(name, "csi")) {
      ReferenceTracker tracker = new ReferenceTracker(new RadosTrackerStore(gone));
      tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
      CLUSTER.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it");
      connection.awaitLatestOsdMap();
      assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of("b")))
          .isInstanceOf(CephException.class);
    }
  }

  @Test
  void aUserWithoutPermissionIsDenied() {
    String user = "client.tracker-" + UUID.randomUUID();
    String key =
        CLUSTER.ceph("auth", "get-or-create-key", user, "mon", "allow r", "osd", "allow r").strip();
    another().add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    try (RadosCluster denied =
            RadosCluster.connect(
                ConnectionSettings.user(user.substring("client.".length()))
                    .monitors(CLUSTER.monitors())
                    .key(key)
                    .build());
        IoContext io = denied.openPool(CLUSTER.pool(), pool.namespace())) {
      ReferenceTracker tracker = new ReferenceTracker(new RadosTrackerStore(io));
      assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of("b")))
          .isInstanceOf(CephException.Denied.class);
      assertThatThrownBy(() -> tracker.remove(SNAPSHOT, "a"))
          .isInstanceOf(CephException.Denied.class);
    } finally {
      CLUSTER.ceph("auth", "rm", user);
    }
    assertThat(another().read(SNAPSHOT).orElseThrow().references().keySet())
        .isEqualTo(Set.of(SNAPSHOT, "a"));
  }
}
