package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.RecordedClient.Kind;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reservations that the cluster carries out after they were given up. */
class LateReservationsIT {
  private static final String DIRECTORY = "csi.volumes.default";
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final LateReservations.Times TIMES =
      new LateReservations.Times(
          Duration.ofMillis(200), ofSeconds(5), ofSeconds(1), ofSeconds(15), ofSeconds(600));

  private static LocalCluster cluster;
  private static Omaps omaps;

  @TempDir private Path folder;
  private Path file;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("late");
    omaps = new Omaps(cluster, cluster.pool(), "");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  @BeforeEach
  void name() {
    file = folder.resolve("csi.sock.clients");
  }

  private static Duration ofSeconds(long seconds) {
    return Duration.ofSeconds(seconds);
  }

  private static ConditionFactory await(String what) {
    return Awaitility.await(what).atMost(Duration.ofSeconds(60));
  }

  private static ConnectionPool pool(ClientRecord record) {
    return new ConnectionPool(ofSeconds(15), TIMEOUT, ofSeconds(600), record, TIMES);
  }

  private static Lease lease(ConnectionPool pool) {
    String user = cluster.rbdUser();
    return pool.lease(
        new ClusterConfig("c1", List.of(cluster.monitors()), "", "csi", "csi"),
        new Credentials(user, cluster.key(user)));
  }

  private static Journal journal(Lease lease) {
    var io = lease.rbdPool(cluster.pool());
    return new Journal(JournalKind.VOLUME, "default", io, io, lease.reservations());
  }

  private static void reserve(Journal journal, String name) {
    journal.begin(name, uuid -> "csi-vol-" + uuid, Map.of());
  }

  private static Optional<String> uuid(String name) {
    return Optional.ofNullable(omaps.of(DIRECTORY).get("csi.volume." + name));
  }

  private List<String> recorded() throws IOException {
    return Files.readAllLines(file).stream()
        .filter(line -> line.startsWith("RESERVATION "))
        .toList();
  }

  @Test
  void aNameThatIsReservedAfterTheCallWasGivenUpIsFreedAgain() throws IOException {
    try (ClientRecord record = ClientRecord.at(file);
        ConnectionPool pool = pool(record);
        Lease lease = lease(pool)) {
      Journal journal = journal(lease);
      reserve(journal, "kept");
      assertThat(recorded()).isEmpty();
      cluster.pause("osd.0");
      try {
        CompletableFuture<Void> pending =
            CompletableFuture.runAsync(() -> reserve(journal, "late"));
        await("the line of what has no answer").until(() -> recorded().size() == 1);
        assertThat(recorded().get(0)).contains("csi.volume.late");
        assertThatThrownBy(pending::join).hasCauseInstanceOf(CephException.TimedOut.class);
      } finally {
        cluster.resume("osd.0");
      }
      await("the late reservation").until(() -> uuid("late").isPresent());
      await("its end").until(() -> uuid("late").isEmpty());
      assertThat(uuid("kept")).isPresent();
      await("the end of its line").until(() -> recorded().isEmpty());
    }
    assertThat(file).doesNotExist();
  }

  /** What a process that was killed leaves of a reservation. */
  private static void leave(ClientFile left, Lease lease, String name, UUID uuid)
      throws IOException {
    left.write(
        List.of(
            RecordedClient.of(
                    lease.cluster(),
                    left.identity(),
                    Kind.RESERVATION,
                    reservation(lease, name, uuid, true).texts())
                .orElseThrow()
                .line()));
  }

  @Test
  void whatAKilledProcessReservedIsFreedByTheNext() throws IOException {
    UUID uuid = UUID.randomUUID();
    try (ConnectionPool pool = pool(ClientRecord.none());
        Lease lease = lease(pool)) {
      try (ClientFile left = ClientFile.open(file).orElseThrow()) {
        leave(left, lease, "killed", uuid);
      }
    }
    try (ClientRecord record = ClientRecord.at(file)) {
      try (ConnectionPool stopped = pool(record);
          Lease lease = lease(stopped)) {
        assertThat(lease.cluster().fsid()).isNotEmpty();
        assertThat(recorded()).hasSize(1);
      }
      assertThat(recorded()).as("left for the next, as it was not looked at").hasSize(1);
      try (ConnectionPool pool = pool(record);
          Lease lease = lease(pool)) {
        assertThat(lease.cluster().fsid()).isNotEmpty();
        put("killed", uuid);
        await("the end of the name").until(() -> uuid("killed").isEmpty());
        await("the end of its line").until(() -> recorded().isEmpty());
        assertThat(omaps.objects()).doesNotContain("csi.volume." + uuid);
      }
    }
  }

  /** Else it would be connected to for ever, and its line never end. */
  @Test
  void aReservationOfAUserThatIsGoneIsGivenUp() throws IOException {
    Credentials user = new Credentials("gone", cluster.key("admin"));
    CephUsers.make(cluster, user.key(), List.of(user.userId()));
    ClusterConfig config = new ClusterConfig("c1", List.of(cluster.monitors()), "", "csi", "csi");
    try (ConnectionPool pool = pool(ClientRecord.none());
        Lease lease = pool.lease(config, user);
        ClientFile left = ClientFile.open(file).orElseThrow()) {
      leave(left, lease, "gone", UUID.randomUUID());
    }
    try (ClientRecord record = ClientRecord.at(file);
        ConnectionPool pool = pool(record)) {
      try (Lease lease = pool.lease(config, user)) {
        lease.discard();
      }
      cluster.ceph("auth", "del", "client." + user.userId());
      assertThat(recorded()).hasSize(1);
      await("the end of its line").until(() -> recorded().isEmpty());
    }
  }

  // What is undone

  private static LateReservation reservation(
      Lease lease, String name, UUID uuid, boolean takesName) {
    long pool = lease.rbdPool(cluster.pool()).poolId();
    return new LateReservation(
        "",
        pool,
        DIRECTORY,
        "csi.volume." + name,
        uuid.toString(),
        takesName,
        pool,
        "csi.volume." + uuid,
        Map.of(
            "csi.volname", name, "csi.imagename", "csi-vol-" + uuid, LateReservation.MAKER, "1"));
  }

  private static void undo(String name, UUID uuid, boolean takesName) {
    try (ConnectionPool pool = pool(ClientRecord.none());
        Lease lease = lease(pool)) {
      reservation(lease, name, uuid, takesName).undo(lease.cluster());
    }
  }

  private static void put(String name, UUID leadsTo) {
    omaps.put(Map.of(DIRECTORY, Map.of("csi.volume." + name, leadsTo.toString())));
  }

  private static String entry(UUID uuid, String maker) {
    String object = "csi.volume." + uuid;
    omaps.put(Map.of(object, Map.of("csi.volname", "pvc", LateReservation.MAKER, maker)));
    return object;
  }

  @Test
  void aNameWithoutAnEntryIsFreedAndNothingStays() {
    UUID uuid = UUID.randomUUID();
    put("empty", uuid);
    undo("empty", uuid, true);
    assertThat(uuid("empty")).isEmpty();
    assertThat(omaps.objects()).doesNotContain("csi.volume." + uuid);
  }

  @Test
  void aNameThatAnotherReservationTookIsNotFreed() {
    UUID uuid = UUID.randomUUID();
    put("others", uuid);
    undo("others", uuid, false);
    assertThat(uuid("others")).contains(uuid.toString());
    assertThat(omaps.objects()).doesNotContain("csi.volume." + uuid);
  }

  @Test
  void aNameThatLeadsToAnEntryStays() {
    UUID uuid = UUID.randomUUID();
    put("made", uuid);
    String object = entry(uuid, "1");
    undo("made", uuid, true);
    assertThat(uuid("made")).contains(uuid.toString());
    assertThat(omaps.objects()).contains(object);
  }

  @Test
  void aNameOfAnotherReservationStays() {
    UUID other = UUID.randomUUID();
    put("other", other);
    undo("other", UUID.randomUUID(), true);
    assertThat(uuid("other")).contains(other.toString());
  }

  @Test
  void anEntryThatNoNameLeadsToIsRemoved() {
    UUID uuid = UUID.randomUUID();
    String object = entry(uuid, "1");
    undo("nameless", uuid, true);
    assertThat(omaps.objects()).doesNotContain(object);
  }

  @Test
  void anEntryThatAnotherCallWentOnWithStays() {
    UUID uuid = UUID.randomUUID();
    String object = entry(uuid, "2");
    undo("nameless", uuid, true);
    undo("nameless", uuid, false);
    assertThat(omaps.objects()).contains(object);
  }

  /** The look that was cut off between its steps is repeated. */
  @Test
  void whatALookLeftThatWasCutOffIsEnded() {
    UUID uuid = UUID.randomUUID();
    put("cut", uuid);
    String object = entry(uuid, "1" + LateReservation.GIVEN_UP);
    undo("cut", uuid, true);
    assertThat(uuid("cut")).isEmpty();
    assertThat(omaps.objects()).doesNotContain(object);
    entry(uuid, "1" + LateReservation.GIVEN_UP);
    undo("cut", uuid, true);
    assertThat(omaps.objects()).doesNotContain(object);
  }

  /**
   * As when the look is cut off after its first step: the next call of the name is not hindered.
   */
  @Test
  void aCallThatFindsTheMarkTakesAnotherEntry() {
    UUID uuid = UUID.randomUUID();
    put("marked", uuid);
    omaps.put(
        Map.of(
            "csi.volume." + uuid,
            Map.of(
                "csi.volname",
                "marked",
                "csi.imagename",
                "csi-vol-" + uuid,
                LateReservation.DELETING,
                "2026-11-27T00:00:00Z " + uuid,
                LateReservation.MAKER,
                "1" + LateReservation.GIVEN_UP)));
    try (TestDriver driver = TestDriver.rbd(cluster).start()) {
      String id = driver.create("marked", 16 << 20).getVolumeId();
      assertThat(id).doesNotContain(uuid.toString());
      assertThat(omaps.objects()).doesNotContain("csi.volume." + uuid);
      undo("marked", uuid, true);
      assertThat(uuid("marked")).isPresent();
      driver.delete(id);
    }
  }

  @Test
  void whatTheFileSaysIsReadAgain() {
    LateReservation reservation =
        new LateReservation(
            "n s", 1, "d", "csi.volume.a b%", "u", true, 2, "o", Map.of("k", "v \"&="));
    assertThat(LateReservation.parse(reservation.texts())).contains(reservation);
    List<String> damaged = new ArrayList<>(reservation.texts());
    damaged.set(8, "{");
    assertThat(LateReservation.parse(damaged)).isEmpty();
    assertThat(LateReservation.parse(List.of("", "x", "d", "k", "u", "true", "2", "o", "{}")))
        .isEmpty();
  }
}
