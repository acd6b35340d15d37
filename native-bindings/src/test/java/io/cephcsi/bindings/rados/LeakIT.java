package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.testing.ProcessState;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What is closed is gone, for the cluster and for the kernel. */
class LeakIT {
  private static final String NAMESPACE = "leak";
  private static final ObjectMapper JSON = new ObjectMapper();

  private static TestCluster ceph;
  private static RadosCluster cluster;
  private static IoContext io;

  @BeforeAll
  static void connect() {
    ceph = TestCluster.shared();
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool(), NAMESPACE);
    io.writeFull("object", new byte[] {1});
  }

  @AfterAll
  static void disconnect() {
    io.close();
    cluster.close();
  }

  /** Sessions of clients at the monitor, this process's and any other's. */
  private static int sessions() {
    try {
      int count = 0;
      JsonNode sessions = JSON.readTree(ceph.ceph("tell", "mon.*", "sessions"));
      for (String name : sessions.findValuesAsText("entity_name")) {
        if (name.startsWith("client.")) {
          count++;
        }
      }
      return count;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String watchers() {
    return ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "listwatchers", "object");
  }

  @Test
  void connectionsLeaveNothing() {
    connectAndUse(); // what a process keeps once it has connected is no leak
    int threads = ProcessState.cephThreads();
    int sockets = ProcessState.sockets();
    int descriptors = ProcessState.descriptors();
    int sessions = sessions();

    // The checks can fail: an open connection is seen by each of them.
    try (RadosCluster open = ceph.connect()) {
      assertThat(open.pools()).isNotEmpty();
      assertThat(ProcessState.cephThreads()).isGreaterThan(threads);
      assertThat(ProcessState.sockets()).isGreaterThan(sockets);
      assertThat(ProcessState.descriptors()).isGreaterThan(descriptors);
      assertThat(sessions()).isGreaterThan(sessions);
    }
    for (int i = 0; i < 50; i++) {
      connectAndUse();
    }
    await()
        .untilAsserted(() -> assertThat(ProcessState.cephThreads()).isLessThanOrEqualTo(threads));
    await().untilAsserted(() -> assertThat(ProcessState.sockets()).isLessThanOrEqualTo(sockets));
    // The JVM may open a class file or a jar meanwhile.
    await()
        .untilAsserted(
            () -> assertThat(ProcessState.descriptors()).isLessThanOrEqualTo(descriptors + 5));
    await().untilAsserted(() -> assertThat(sessions()).isLessThanOrEqualTo(sessions));
  }

  private static void connectAndUse() {
    try (RadosCluster mine = ceph.connect();
        IoContext pool = mine.openPool(ceph.pool(), NAMESPACE)) {
      assertThat(pool.read("object", 0, 1)).hasSize(1);
    }
  }

  @Test
  void failedConnectionsLeaveNothing() {
    ThrowingCallable fail = () -> RadosCluster.connect(ceph.settings().key("c2hvcnQ=").build());
    assertThatThrownBy(fail).isInstanceOf(CephException.class);
    int threads = ProcessState.cephThreads();
    int descriptors = ProcessState.descriptors();
    for (int i = 0; i < 20; i++) {
      assertThatThrownBy(fail).isInstanceOf(CephException.class);
    }
    await()
        .untilAsserted(() -> assertThat(ProcessState.cephThreads()).isLessThanOrEqualTo(threads));
    assertThat(ProcessState.descriptors()).isLessThanOrEqualTo(descriptors + 5);
  }

  @Test
  void watchesLeaveNothing() {
    try (Watch open = io.watch("object", 0, payload -> {})) {
      assertThat(watchers()).contains("client." + cluster.instanceId());
      open.verify();
    }
    for (int i = 0; i < 100; i++) {
      try (Watch watch = io.watch("object", 0, payload -> {})) {
        assertThat(io.notifyWatchers("object", new byte[10], 5000)).isEqualTo(1);
        watch.verify();
      }
    }
    assertThat(watchers()).isEmpty();
  }

  @Test
  void operationsLeaveNoMemory() {
    byte[] large = new byte[256 << 10];
    operations(large, 100);
    long before = ProcessState.mallocBytes();
    operations(large, 850);
    // One buffer of 256 KiB kept from each round would be 212 MiB.
    assertThat(ProcessState.mallocBytes() - before).isLessThan(20L << 20);

    // The check can fail. Meanwhile the connection frees what it has of the rounds before: 15 MiB
    // were seen.
    List<ReadOperation> kept = new ArrayList<>();
    long base = ProcessState.mallocBytes();
    for (int i = 0; i < 850; i++) {
      ReadOperation op = new ReadOperation();
      op.read(0, large.length);
      kept.add(op);
    }
    assertThat(ProcessState.mallocBytes() - base).isGreaterThan(150L << 20);
    kept.forEach(ReadOperation::close);
  }

  private static void operations(byte[] large, int rounds) {
    for (int i = 0; i < rounds; i++) {
      try (IoContext pool = cluster.openPool(ceph.pool(), NAMESPACE);
          WriteOperation write =
              new WriteOperation().create().writeFull(large).omapSet("k", new byte[1000]);
          ReadOperation read = new ReadOperation()) {
        try (Completion completion = pool.operateAsync("large", write)) {
          completion.await();
        }
        var data = read.read(0, large.length);
        read.getXattrs();
        read.omapGetVals("", "", 10);
        read.omapGetByKeys(List.of("k"));
        read.exec("hello", "say_hello", new byte[] {65});
        pool.operate("large", read);
        assertThat(data.get()).hasSize(large.length);
        assertThatThrownBy(() -> pool.stat("absent")).isInstanceOf(CephException.NotFound.class);
      }
      if (i % 50 == 0) {
        assertThat(cluster.monCommand("{\"prefix\": \"osd dump\"}").output()).isNotEmpty();
        assertThat(io.objects()).contains("large");
      }
    }
  }

  @Test
  void readsThatAreNeverCarriedOutLeaveNothing() {
    for (int i = 0; i < 1000; i++) {
      try (ReadOperation read = new ReadOperation()) {
        read.getXattrs();
        read.omapGetVals("", "", 10);
        read.exec("hello", "say_hello", new byte[0]);
      }
      try (WriteOperation write = new WriteOperation()) {
        write.omapSet(Map.of("k", new byte[100])).setXattr("x", new byte[100]);
      }
    }
    assertThat(io.read("object", 0, 1)).hasSize(1);
  }

  @Test
  void everyHandleIsClosedTwiceAndRefusedAfterwards() {
    RadosCluster mine = ceph.connect();
    IoContext pool = mine.openPool(ceph.pool(), NAMESPACE);
    Watch watch = pool.watch("object", 0, payload -> {});
    WriteOperation write = new WriteOperation().create();
    ReadOperation read = new ReadOperation();
    Completion completion;
    try (WriteOperation started = new WriteOperation().create()) {
      completion = pool.operateAsync("object", started);
    }
    List<AutoCloseable> inOrder = List.of(completion, write, read, watch, pool, mine);
    for (AutoCloseable handle : inOrder) {
      for (int i = 0; i < 2; i++) {
        assertThatCode(handle::close).doesNotThrowAnyException();
      }
    }
    List<ThrowingCallable> uses =
        List.of(
            completion::await,
            completion::isComplete,
            () -> write.setXattr("x", new byte[1]),
            () -> io.operate("object", write),
            () -> io.operateAsync("object", write),
            read::stat,
            () -> io.operate("object", read),
            watch::verify,
            () -> pool.read("object", 0, 1),
            () -> pool.watch("object", 0, payload -> {}),
            () -> pool.operate("object", new WriteOperation()),
            pool::lastVersion,
            pool::objects,
            pool::flush,
            mine::fsid,
            mine::instanceId,
            mine::addresses,
            mine::stat,
            mine::pools,
            mine::awaitLatestOsdMap,
            () -> mine.poolId("rbd"),
            () -> mine.poolName(1),
            () -> mine.option("name"),
            () -> mine.openPool("rbd"),
            () -> mine.monCommand("{}"),
            () -> mine.mgrCommand("{}"),
            () -> mine.blocklist("1.2.3.4:0/0", Duration.ofSeconds(1)));
    for (ThrowingCallable use : uses) {
      assertThatThrownBy(use)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is closed");
    }
    // A failed start has not closed what was open.
    assertThat(io.read("object", 0, 1)).hasSize(1);
  }
}
