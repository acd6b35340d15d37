package io.cephcsi.testing;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.RadosCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A real Ceph cluster for tests. Which one, {@code CEPH_TEST_PROVIDER} says: {@code local} (daemons
 * on loopback by ci/ceph, the default), {@code testcontainers} (the ceph/demo image) or {@code
 * external} (the cluster of the ceph.conf in {@code CEPH_CONF}). A missing cluster is a failure.
 *
 * <p>The shared cluster is started on first use and ends with the JVM. Tests that stop or freeze a
 * cluster take one of their own by {@link #start}.
 */
public abstract class TestCluster implements AutoCloseable {
  private static final Pattern KEY = Pattern.compile("\\bkey\\s*=\\s*(\\S+)");

  /** The cluster that tests share, started on first use. */
  public static TestCluster shared() {
    return Shared.CLUSTER;
  }

  /** Whether a test may stop and freeze clusters of its own: only local daemons can. */
  public static boolean canControl() {
    return provider().equals("local");
  }

  /**
   * Starts a cluster for one test class; local daemons only.
   *
   * @param name a short word, unique in this JVM
   */
  public static LocalCluster start(String name, String... options) {
    return LocalCluster.up(name, options);
  }

  private static String provider() {
    String provider = System.getenv("CEPH_TEST_PROVIDER");
    return provider == null ? "local" : provider.toLowerCase(Locale.ROOT);
  }

  private static TestCluster create() {
    return switch (provider()) {
      case "local" -> LocalCluster.up("shared");
      case "testcontainers" -> ContainerCluster.up();
      case "external" -> ExternalCluster.fromEnvironment();
      default ->
          throw new IllegalStateException(
              "CEPH_TEST_PROVIDER is "
                  + provider()
                  + ": it must be local, testcontainers or external");
    };
  }

  /** The ceph.conf of client.admin, for the {@code ceph} and {@code rbd} commands. */
  public abstract Path conf();

  /** The monitors' addresses. */
  public abstract String monitors();

  /** The user that RBD provisioning runs as. */
  public abstract String rbdUser();

  /** The user that CephFS provisioning runs as. */
  public String cephFsUser() {
    return rbdUser();
  }

  /** The file system; it has the subvolume group csi. */
  public String fileSystem() {
    return "cephfs";
  }

  /** The keyring file of a user. */
  protected abstract Path keyring(String user);

  /** The secret key of a user, such as {@code admin}. */
  public String key(String user) {
    try {
      Matcher matcher = KEY.matcher(Files.readString(keyring(user)));
      if (!matcher.find()) {
        throw new IllegalStateException("no key in " + keyring(user));
      }
      return matcher.group(1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The pool for RBD tests. */
  public String pool() {
    return "rbd";
  }

  /** A second pool for RBD images. */
  public String otherPool() {
    return "rbd2";
  }

  /** Settings of client.admin. */
  public ConnectionSettings.Builder settings() {
    return ConnectionSettings.user("admin")
        .monitors(monitors())
        .key(key("admin"))
        .operationTimeout(Duration.ofSeconds(30));
  }

  /** A new connection of client.admin. */
  public RadosCluster connect() {
    return RadosCluster.connect(settings().build());
  }

  /** Runs {@code rbd}, the independent client, and gives its output. */
  public String rbd(String... args) {
    return Commands.run(Commands.with("rbd", "-c", conf().toString(), args));
  }

  /** Runs {@code ceph} and gives its output. */
  public String ceph(String... args) {
    return Commands.run(Commands.with("ceph", "-c", conf().toString(), args));
  }

  /** Runs {@code rados} and gives its output. */
  public String rados(String... args) {
    return Commands.run(Commands.with("rados", "-c", conf().toString(), args));
  }

  @Override
  public abstract void close();

  /** Starts the shared cluster once. */
  private static final class Shared {
    static final TestCluster CLUSTER = create();
  }
}
