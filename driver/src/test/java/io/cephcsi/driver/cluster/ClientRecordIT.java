package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.RecordedClient.Kind;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which clients a process believes to be those of a dead one. */
class ClientRecordIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final RadosCluster CLUSTER = CEPH.connect();
  private static final String ADDRESS = "192.0.2.7:0/4711";

  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void name() {
    file = folder.resolve("csi.sock.clients");
  }

  @AfterAll
  static void disconnect() {
    CLUSTER.close();
  }

  /** Leaves the file as a process does that is killed. */
  private void leave(String... addresses) throws IOException {
    try (ClientFile left = ClientFile.open(file).orElseThrow()) {
      left.write(
          Stream.of(addresses)
              .map(
                  address ->
                      RecordedClient.of(CLUSTER, left.identity(), Kind.ADDRESS, List.of(address))
                          .orElseThrow()
                          .line())
              .toList());
    }
  }

  private List<String> dead(Path path, RadosCluster user) {
    try (ClientRecord record = ClientRecord.at(path)) {
      return record.take(user).stream().map(client -> client.names().get(0)).toList();
    }
  }

  @Test
  void whatAKilledProcessHadOpenIsToldUntilItIsEnded() throws IOException {
    leave(ADDRESS, "192.0.2.7:0/4712");
    try (ClientRecord record = ClientRecord.at(file)) {
      assertThat(record.hasDead()).isTrue();
      record.ended(record.take(CLUSTER).get(0));
    }
    assertThat(dead(file, CLUSTER)).containsExactly("192.0.2.7:0/4712");
    try (ClientRecord record = ClientRecord.at(file)) {
      record.ended(record.take(CLUSTER).get(0));
    }
    assertThat(file).doesNotExist();
  }

  @Test
  void aClientIsTakenOnceUntilItIsGivenBack() throws IOException {
    leave(ADDRESS);
    try (ClientRecord record = ClientRecord.at(file)) {
      RecordedClient client = record.take(CLUSTER).get(0);
      assertThat(record.take(CLUSTER)).isEmpty();
      assertThat(record.take(client)).isFalse();
      record.giveBack(client);
      assertThat(record.take(client)).isTrue();
      assertThat(record.take(CLUSTER)).isEmpty();
      record.giveBack(client);
      assertThat(record.take(CLUSTER)).containsExactly(client);
      assertThat(record.hasDead()).isTrue();
      record.ended(client);
      assertThat(record.take(client)).isFalse();
    }
  }

  @Test
  void ownClientsAreWrittenWhileTheyAreOpenAndTheKeyIsNot() throws IOException {
    ClientRecord record = ClientRecord.at(file);
    ClientRecord.Entry connection = record.connection(CLUSTER);
    ClientRecord.Entry session = record.session(CLUSTER, "fs", "/a b", "id");
    assertThat(Files.getPosixFilePermissions(file))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    assertThat(Files.readString(file))
        .contains("SESSION " + CLUSTER.fsid() + " fs %2Fa+b id ")
        .doesNotContain(CEPH.key("admin"));
    connection.close();
    record.close(); // while a client is open, it stays
    assertThat(Files.readAllLines(file)).hasSize(2);
    session.close();
    assertThat(Files.readAllLines(file)).hasSize(1);
    assertThat(record.hasDead()).isFalse();
    record.close();
    assertThat(file).doesNotExist();
  }

  @Test
  void sessionsComeBehindAddressesWithAllTheirNames() throws IOException {
    try (ClientFile left = ClientFile.open(file).orElseThrow()) {
      left.write(
          Stream.of(
                  RecordedClient.of(
                      CLUSTER, left.identity(), Kind.SESSION, List.of("fs", "/a b%", "id")),
                  RecordedClient.of(CLUSTER, left.identity(), Kind.ADDRESS, List.of(ADDRESS)))
              .map(client -> client.orElseThrow().line())
              .toList());
    }
    try (ClientRecord record = ClientRecord.at(file)) {
      assertThat(record.take(CLUSTER))
          .extracting(RecordedClient::names)
          .containsExactly(List.of(ADDRESS), List.of("fs", "/a b%", "id"));
    }
  }

  @Test
  void whatNobodyEndsIsForgottenWhenTheClusterHasGivenItUp() throws IOException {
    String line = "ADDRESS 11111111-2222-3333-4444-555555555555 10.0.0.1%3A0%2F77 none";
    AtomicLong nanos = new AtomicLong();
    try (ClientFile left = ClientFile.open(file).orElseThrow()) {
      left.write(List.of(line));
    }
    ClientRecord.at(file, nanos::get).close();
    assertThat(Files.readAllLines(file)).contains(line);
    try (ClientRecord record = ClientRecord.at(file, nanos::get)) {
      nanos.addAndGet(Duration.ofHours(1).toNanos());
      record.connection(CLUSTER).close();
      assertThat(Files.readAllLines(file)).contains(line);
      nanos.incrementAndGet();
      record.connection(CLUSTER).close();
      assertThat(Files.readAllLines(file)).doesNotContain(line);
    }
    assertThat(file).doesNotExist();
  }

  @Test
  void aCopyOfTheFileProvesNothing() throws IOException {
    leave(ADDRESS);
    Path copy = Files.copy(file, folder.resolve("copy.sock.clients"));
    assertThat(dead(copy, CLUSTER)).isEmpty();
    assertThat(dead(file, CLUSTER)).containsExactly(ADDRESS);
  }

  @Test
  void aFileOfAnotherMachineOrFromBeforeItsLastStartProvesNothing() throws IOException {
    leave(ADDRESS);
    String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    String text = Files.readString(file);
    assertThat(text).contains(boot);
    Files.writeString(file, text.replace(boot, UUID.randomUUID().toString()));
    assertThat(dead(file, CLUSTER)).isEmpty();
  }

  @Test
  void linesOfOthersAndThoseOfNoClientAreLeftOut() throws IOException {
    leave(ADDRESS, "127.0.0.1:6789/0", "10.0.0.1:0/0");
    String text = Files.readString(file);
    Files.writeString(
        file,
        text
            + text.lines().skip(1).findFirst().orElseThrow().replace("4711", "4712")
            + "\nADDRESS x y z\nADDRESS\n\nSESSION a b c d %zz\n"
            + text.substring(text.indexOf("ADDRESS"), text.indexOf("ADDRESS") + 80));
    CEPH.ceph("auth", "get-or-create", "client.tenant", "mon", "allow r", "osd", "allow rw");
    try (RadosCluster tenant =
        RadosCluster.connect(
            ConnectionSettings.user("tenant")
                .monitors(CEPH.monitors())
                .key(CEPH.ceph("auth", "get-key", "client.tenant").strip())
                .build())) {
      assertThat(dead(file, tenant)).isEmpty();
    }
    assertThat(dead(file, CLUSTER)).containsExactly(ADDRESS);
  }

  @Test
  void aLivingProcessKeepsItsClientsAlsoWhileItIsStopped() throws Exception {
    leave(ADDRESS);
    String before = Files.readString(file);
    Process living =
        new ProcessBuilder(
                "python3",
                "-c",
                "import fcntl,sys,time; f=open(sys.argv[1],'r+'); fcntl.lockf(f,fcntl.LOCK_EX);"
                    + " open(sys.argv[1]+'.ready','w'); time.sleep(600)",
                file.toString())
            .inheritIO()
            .start();
    try {
      Path ready = Path.of(file + ".ready");
      Awaitility.await().until(() -> Files.exists(ready));
      assertThat(dead(file, CLUSTER)).isEmpty();
      assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(living.pid())).start().waitFor())
          .isZero();
      assertThat(dead(file, CLUSTER)).isEmpty();
      assertThat(Files.readString(file)).isEqualTo(before);
    } finally {
      living.destroyForcibly().waitFor();
    }
    assertThat(dead(file, CLUSTER)).containsExactly(ADDRESS);
  }

  @Test
  void aSecondRecordInThisProcessLeavesTheFirstItsLock() throws IOException {
    leave(ADDRESS);
    try (ClientRecord first = ClientRecord.at(file)) {
      assertThat(dead(file, CLUSTER)).isEmpty();
      assertThat(first.take(CLUSTER)).hasSize(1);
    }
  }

  @Test
  void aLinkIsNotFollowed() throws IOException {
    Path target = Files.writeString(folder.resolve("target"), "text");
    Files.createSymbolicLink(file, target);
    assertThatThrownBy(() -> ClientFile.open(file)).isInstanceOf(IOException.class);
    try (ClientRecord record = ClientRecord.at(file);
        ClientRecord.Entry entry = record.connection(CLUSTER)) {
      assertThat(entry).isNotNull();
      assertThat(target).hasContent("text");
    }
  }
}
