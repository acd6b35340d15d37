package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.ProcessState;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What connecting gives, and above all what it gives when it fails. */
class ConnectionIT {
  private static TestCluster ceph;

  @BeforeAll
  static void start() {
    ceph = TestCluster.shared();
  }

  private static CephException failure(ConnectionSettings settings) {
    return catchThrowableOfType(CephException.class, () -> RadosCluster.connect(settings).close());
  }

  /** The right key with its last secret bytes changed. */
  private static String wrongKey() {
    byte[] key = Base64.getDecoder().decode(ceph.key("admin"));
    for (int i = key.length - 8; i < key.length; i++) {
      key[i] ^= 0x55;
    }
    return Base64.getEncoder().encodeToString(key);
  }

  private static void assertSecret(Throwable thrown, String secret) {
    StringWriter all = new StringWriter();
    thrown.printStackTrace(new PrintWriter(all, true));
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      all.append(t.toString());
    }
    assertThat(all.toString()).doesNotContain(secret).contains("rados_");
  }

  @Test
  void aWrongKeyIsDeniedAndNotShown() {
    String key = wrongKey();
    ConnectionSettings settings = ceph.settings().key(key).build();
    CephException denied = failure(settings);
    assertThat(denied).isInstanceOf(CephException.Denied.class);
    assertThat(denied.operation()).isEqualTo("rados_connect");
    assertThat(denied.object()).contains("client.admin", ceph.monitors());
    assertSecret(denied, key);
    assertThat(settings.toString()).doesNotContain(key);
  }

  @Test
  void anUnknownUserIsDenied() {
    CephException denied =
        failure(
            ConnectionSettings.user("nobody")
                .monitors(ceph.monitors())
                .key(ceph.key("admin"))
                .build());
    assertThat(denied)
        .isInstanceOf(CephException.Denied.class)
        .hasMessageContaining("client.nobody");
    assertSecret(denied, ceph.key("admin"));
  }

  /** Ceph 20 takes it for a wrong key; before, librados could not read it. */
  @Test
  void whatIsNoKeyIsRefusedAndNotShown() {
    for (String key : List.of("not base64 at all!", "c2hvcnQ=")) {
      CephException refused = failure(ceph.settings().key(key).build());
      assertThat(refused.errno()).isIn(Errno.EINVAL, Errno.EACCES);
      assertSecret(refused, key);
    }
    assertThat(failure(ceph.settings().key("").build())).isInstanceOf(CephException.Denied.class);
  }

  /** librados itself writes to the process's stderr, so another process is watched. */
  @Test
  void aFailedConnectionWritesNothingToStderr() throws Exception {
    String key = "c2hvcnQ=";
    Process process =
        new ProcessBuilder(ChildJvm.command(List.of(), ConnectOnce.class, ceph.monitors(), key))
            .redirectErrorStream(true)
            .start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).isZero();
    assertThat(said.strip()).isIn("EINVAL", "EACCES");
  }

  @Test
  void noMonitorListeningTimesOutAndLeavesNoThreads() throws IOException {
    ConnectionSettings settings =
        ceph.settings().monitors(freeAddress()).connectTimeout(Duration.ofSeconds(2)).build();
    failure(settings); // the first connection of a process starts what all share
    int threads = ProcessState.cephThreads();
    int descriptors = ProcessState.descriptors();

    long begun = System.nanoTime();
    CephException timedOut = failure(settings);
    Duration took = Duration.ofNanos(System.nanoTime() - begun);

    assertThat(timedOut).isInstanceOf(CephException.TimedOut.class);
    assertThat(took).isBetween(Duration.ofMillis(1900), Duration.ofSeconds(15));
    await().until(() -> ProcessState.cephThreads() <= threads);
    await().until(() -> ProcessState.descriptors() <= descriptors);
  }

  @Test
  void aTimeoutBelowASecondIsNotTakenForNone() throws IOException {
    ConnectionSettings settings =
        ceph.settings().monitors(freeAddress()).connectTimeout(Duration.ofMillis(300)).build();
    long begun = System.nanoTime();
    assertThat(failure(settings)).isInstanceOf(CephException.TimedOut.class);
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(15));
  }

  @Test
  void timeoutsOfNothingAreRefused() {
    for (Duration none : new Duration[] {Duration.ZERO, Duration.ofSeconds(-1)}) {
      assertThatThrownBy(() -> ceph.settings().connectTimeout(none))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> ceph.settings().operationTimeout(none))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  private static String freeAddress() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return "v2:127.0.0.1:" + socket.getLocalPort();
    }
  }

  @Test
  void wrongOptionsAreRefusedByNameWithoutTheirValue() {
    assertThat(failure(ceph.settings().option("no_such_option", "s3cret").build()))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessage("rados_conf_set no_such_option: ENOENT");
    CephException invalid =
        failure(ceph.settings().option("rbd_concurrent_management_ops", "s3cret").build());
    assertThat(invalid.errno()).isEqualTo(Errno.EINVAL);
    assertThat(invalid).hasMessage("rados_conf_set rbd_concurrent_management_ops: EINVAL");
  }

  @Test
  void aMissingConfigFileIsNotFound(@TempDir Path folder) {
    assertThat(failure(ceph.settings().configFile(folder.resolve("absent")).build()))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessageContaining("rados_conf_read_file")
        .hasMessageContaining("absent");
  }

  @Test
  void aConfigFileGivesWhatTheSettingsDoNot(@TempDir Path folder) throws IOException {
    Path keyring = folder.resolve("keyring");
    Files.writeString(keyring, "[client.admin]\nkey = " + ceph.key("admin") + "\n");
    Path file = folder.resolve("ceph.conf");
    Files.writeString(
        file,
        "[global]\nmon_host = "
            + ceph.monitors()
            + "\nkeyring = "
            + keyring
            + "\nrbd_concurrent_management_ops = 3\nrbd_cache_size = 1048576\n");
    ConnectionSettings settings =
        ConnectionSettings.user("admin")
            .configFile(file)
            .option("rbd_concurrent_management_ops", "4")
            .build();
    assertThat(settings).hasToString("client.admin by " + file);
    try (RadosCluster cluster = RadosCluster.connect(settings)) {
      assertThat(cluster.fsid()).isEqualTo(ceph.ceph("fsid").strip());
      assertThat(cluster.option("rbd_cache_size")).isEqualTo("1048576");
      assertThat(cluster.option("rbd_concurrent_management_ops")).isEqualTo("4");
    }
  }

  @Test
  void settingsTellWhoAndWhereButNotTheKey() {
    ConnectionSettings settings =
        ConnectionSettings.user("me").monitors("host").key("s3cret").build();
    assertThat(settings).hasToString("client.me at host");
    assertThat(settings.userId()).isEqualTo("me");
  }
}
