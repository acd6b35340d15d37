package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.ceph.rados.jna.RadosClusterInfo;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class RadosClusterIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static TestCluster ceph;
  private static RadosCluster cluster;
  private static RadosJava other;

  @BeforeAll
  static void connect() throws IOException {
    ceph = TestCluster.shared();
    cluster = ceph.connect();
    other = RadosJava.connect(ceph);
  }

  @AfterAll
  static void disconnect() {
    other.close();
    cluster.close();
  }

  @Test
  void theFsidIsThatOfTheCluster() throws IOException {
    assertThat(cluster.fsid())
        .isEqualTo(ceph.ceph("fsid").strip())
        .isEqualTo(other.rados().clusterFsid());
  }

  @Test
  void instanceAndAddressesAreThoseOfTheMonitorsSession() throws IOException {
    JsonNode mine = null;
    for (JsonNode session :
        JSON.readTree(ceph.ceph("tell", "mon.*", "sessions")).findParents("global_id")) {
      if (session.get("global_id").asLong() == cluster.instanceId()) {
        mine = session;
      }
    }
    assertThat(mine).as("session of client.%d", cluster.instanceId()).isNotNull();
    assertThat(mine.toString()).contains(cluster.addresses().replaceAll(".*/", ""));
    assertThat(cluster.instanceId()).isNotEqualTo(other.rados().getInstanceId());
  }

  @Test
  void optionsAreThoseThatTheConnectionWasMadeWith() {
    String longValue = "/tmp/" + "x".repeat(2000);
    try (RadosCluster configured =
        RadosCluster.connect(
            ceph.settings()
                .option("heartbeat_file", longValue)
                .option("rbd_concurrent_management_ops", "7")
                .operationTimeout(Duration.ofMillis(1500))
                .connectTimeout(Duration.ofMillis(9001))
                .build())) {
      assertThat(configured.option("rbd_concurrent_management_ops")).isEqualTo("7");
      assertThat(configured.option("heartbeat_file")).isEqualTo(longValue);
      assertThat(Double.parseDouble(configured.option("rados_osd_op_timeout"))).isEqualTo(2);
      assertThat(Double.parseDouble(configured.option("rados_mon_op_timeout"))).isEqualTo(2);
      assertThat(Double.parseDouble(configured.option("client_mount_timeout"))).isEqualTo(10);
    }
    assertThatThrownBy(() -> cluster.option("no_such_option"))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessageContaining("no_such_option");
  }

  @Test
  void spaceIsThatOfTheOtherClient() throws IOException {
    RadosClusterInfo theirs = other.rados().clusterStat();
    ClusterStat mine = cluster.stat();
    assertThat(mine.totalBytes()).isEqualTo(theirs.kb << 10).isPositive();
    assertThat(mine.usedBytes() + mine.availableBytes()).isEqualTo(mine.totalBytes());
    JsonNode df = JSON.readTree(ceph.ceph("df", "--format", "json")).get("stats");
    assertThat(mine.totalBytes()).isEqualTo(df.get("total_bytes").asLong());
  }

  /** Without those of another test, of which one client may not know yet. */
  private static List<String> lasting(List<String> pools) {
    return pools.stream().filter(pool -> !pool.matches("(made|many)-.*")).toList();
  }

  @Test
  void poolsAreFoundByNameAndByIdOnBothClients() throws IOException {
    String pool = ceph.pool();
    assertThat(cluster.pools()).contains(pool, ceph.otherPool());
    assertThat(lasting(cluster.pools()))
        .containsExactlyInAnyOrderElementsOf(lasting(List.of(other.rados().poolList())));
    long id = cluster.poolId(pool);
    assertThat(id).isEqualTo(other.rados().poolLookup(pool));
    assertThat(cluster.poolName(id)).isEqualTo(pool);
    try (IoContext byName = cluster.openPool(pool);
        IoContext byId = cluster.openPool(id, "space")) {
      assertThat(byName.poolId()).isEqualTo(id);
      assertThat(byName.pool()).isEqualTo(pool);
      assertThat(byName.namespace()).isEmpty();
      assertThat(byName.cluster()).isSameAs(cluster);
      assertThat(byId.pool()).isEqualTo(pool);
      assertThat(byId.namespace()).isEqualTo("space");
    }
  }

  @Test
  void poolsThatAreMissingAreNotFound() {
    assertThatThrownBy(() -> cluster.poolId("absent"))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessage("rados_pool_lookup absent: ENOENT");
    assertThatThrownBy(() -> cluster.poolName(123456)).isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> cluster.openPool("absent")).isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> cluster.openPool(123456, ""))
        .isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void aPoolThatWasMadeElsewhereIsSeenAfterTheLatestMap() {
    // Longer than the first buffer that the bindings offer.
    String pool = "made-elsewhere-" + "x".repeat(600);
    ceph.ceph("osd", "pool", "create", pool, "1");
    try {
      cluster.awaitLatestOsdMap();
      assertThat(cluster.pools()).contains(pool);
      assertThat(cluster.poolName(cluster.poolId(pool))).isEqualTo(pool);
      cluster.openPool(pool).close();
    } finally {
      ceph.ceph("osd", "pool", "delete", pool, pool, "--yes-i-really-really-mean-it");
    }
    cluster.awaitLatestOsdMap();
    assertThat(cluster.pools()).doesNotContain(pool);
  }

  @Test
  void aPoolThatWasMadeElsewhereIsOpenedEvenWithoutAskingForTheMap() {
    String pool = "made-elsewhere-" + UUID.randomUUID();
    ceph.ceph("osd", "pool", "create", pool, "1");
    try {
      // librados fetches the newest map by itself before it says that a pool is missing.
      try (IoContext io = cluster.openPool(pool)) {
        assertThat(io.poolId()).isEqualTo(cluster.poolId(pool));
      }
    } finally {
      ceph.ceph("osd", "pool", "delete", pool, pool, "--yes-i-really-really-mean-it");
    }
  }

  @Test
  void moreNamesThanTheFirstBufferHoldsAreListed() {
    String stem = "many-" + "y".repeat(1500) + "-";
    try {
      for (int i = 0; i < 4; i++) {
        cluster.monCommand(
            "{\"prefix\": \"osd pool create\", \"pg_num\": 1, \"pool\": \"" + stem + i + "\"}");
      }
      cluster.awaitLatestOsdMap();
      assertThat(cluster.pools())
          .contains(stem + 0, stem + 1, stem + 2, stem + 3)
          .contains(ceph.pool());
    } finally {
      for (int i = 0; i < 4; i++) {
        cluster.monCommand(
            "{\"prefix\": \"osd pool delete\", \"yes_i_really_really_mean_it\": true,"
                + (" \"pool\": \"" + stem + i + "\", \"pool2\": \"" + stem + i + "\"}"));
      }
    }
  }

  @Test
  void aMonitorAnswersInJson() throws IOException {
    CommandReply reply = cluster.monCommand("{\"prefix\": \"osd dump\", \"format\": \"json\"}");
    JsonNode dump = JSON.readTree(reply.text());
    assertThat(dump.get("fsid").asText()).isEqualTo(cluster.fsid());
    assertThat(dump.get("pools").findValuesAsText("pool_name")).contains(ceph.pool());
  }

  @Test
  void anOsdAnswersInJson() throws IOException {
    CommandReply reply = cluster.osdCommand(0, "{\"prefix\": \"perf dump\", \"format\": \"json\"}");
    assertThat(JSON.readTree(reply.text()).path("osd").path("op_w").isNumber()).isTrue();
  }

  @Test
  void anOsdThatIsNotThereOrDoesNotUnderstandIsAnError() {
    assertThatThrownBy(() -> cluster.osdCommand(999, "{\"prefix\": \"perf dump\"}"))
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isIn(Errno.ENOENT, Errno.ENXIO))
        .hasMessageContaining("rados_osd_command perf dump");
    assertThatThrownBy(() -> cluster.osdCommand(0, "{\"prefix\": \"no such command\"}"))
        .isInstanceOf(CephException.class);
  }

  @Test
  void aFailedMonitorCommandCarriesWhatTheMonitorSaid() {
    CephException missing =
        catchThrowableOfType(
            CephException.class,
            () ->
                cluster.monCommand(
                    "{\"prefix\": \"osd pool get\", \"pool\": \"absent\", \"var\": \"size\"}"));
    assertThat(missing)
        .isInstanceOf(CephException.NotFound.class)
        .hasMessage("rados_mon_command osd pool get: ENOENT (unrecognized pool 'absent')");
    assertThat(missing.object()).isEqualTo("osd pool get");

    assertThatThrownBy(() -> cluster.monCommand("{\"prefix\": \"no such command\"}"))
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL))
        .hasMessageContaining("command not known");
    assertThatThrownBy(() -> cluster.monCommand("not json"))
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
  }

  @Test
  void argumentsOfAFailedCommandAreNotShown() {
    assertThatThrownBy(
            () ->
                cluster.monCommand(
                    "{\"key\": \"s3cret\", \"prefix\" :\"no such\", \"value\": \"s3cret\"}"))
        .hasMessageContaining("no such")
        .hasMessageNotContaining("s3cret");
    assertThatThrownBy(() -> cluster.monCommand("{\"key\": \"s3cret\", \"prefix\"}"))
        .hasMessageNotContaining("s3cret");
  }

  @Test
  void theManagerAnswersToo() throws IOException {
    CommandReply reply = cluster.mgrCommand("{\"prefix\": \"pg stat\", \"format\": \"json\"}");
    assertThat(JSON.readTree(reply.text()).findValue("num_pgs").asInt()).isPositive();

    assertThatThrownBy(
            () -> cluster.mgrCommand("{\"prefix\": \"rbd task cancel\", \"task_id\": \"absent\"}"))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessageContaining("rados_mgr_command rbd task cancel: ENOENT (")
        .hasMessageContaining("absent");
  }

  @Test
  void aBlocklistedConnectionIsToldSoAndCanBeClosed() throws IOException {
    RadosCluster victim = ceph.connect();
    IoContext io = victim.openPool(ceph.pool(), "blocklist");
    io.writeFull("object", new byte[] {1});
    String address = victim.addresses();
    cluster.blocklist(address, Duration.ofMinutes(10));
    try {
      assertThat(ceph.ceph("osd", "blocklist", "ls")).contains(address);
      victim.awaitLatestOsdMap();
      assertThatThrownBy(() -> io.writeFull("object", new byte[] {2}))
          .isInstanceOf(CephException.Blocklisted.class)
          .hasMessageContaining(ceph.pool() + "/blocklist/object");
      assertThatThrownBy(() -> io.read("object", 0, 1))
          .isInstanceOf(CephException.Blocklisted.class);
      try (WriteOperation op = new WriteOperation().create();
          Completion completion = io.operateAsync("object", op)) {
        assertThatThrownBy(completion::await).isInstanceOf(CephException.Blocklisted.class);
      }
      assertThatThrownBy(() -> io.watch("object", 0, payload -> {}))
          .isInstanceOf(CephException.Blocklisted.class);
      io.close();
      victim.close();

      try (IoContext mine = cluster.openPool(ceph.pool(), "blocklist")) {
        assertThat(mine.read("object", 0, 10)).containsExactly(1);
      }
    } finally {
      cluster.monCommand(
          "{\"prefix\": \"osd blocklist\", \"blocklistop\": \"rm\", \"addr\": \""
              + address
              + "\"}");
    }
    assertThat(ceph.ceph("osd", "blocklist", "ls")).doesNotContain(address);
  }

  @Test
  void aConnectionWithOpenPoolsStaysOpen() {
    RadosCluster mine = ceph.connect();
    IoContext io = mine.openPool(ceph.pool());
    assertThatThrownBy(mine::close).isInstanceOf(IllegalStateException.class);
    assertThat(mine.fsid()).isEqualTo(cluster.fsid());
    io.close();
    mine.close();
    mine.close();
    assertThatThrownBy(mine::fsid).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> mine.openPool(ceph.pool())).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> mine.monCommand("{}")).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aNameThatIsRefusedLeavesNothingOpen() {
    try (RadosCluster mine = ceph.connect()) {
      assertThatThrownBy(() -> mine.openPool(ceph.pool(), "a\0b"))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> mine.openPool("a\0b")).isInstanceOf(IllegalArgumentException.class);
    }
  }
}
