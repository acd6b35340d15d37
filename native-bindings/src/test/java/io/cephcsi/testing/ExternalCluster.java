package io.cephcsi.testing;

import java.nio.file.Path;
import java.util.List;

/** The cluster of a ceph.conf that the environment names; nothing of it is started or stopped. */
final class ExternalCluster extends TestCluster {
  private final Path conf;

  private ExternalCluster(Path conf) {
    this.conf = conf;
  }

  static ExternalCluster fromEnvironment() {
    String conf = System.getenv("CEPH_CONF");
    if (conf == null) {
      throw new IllegalStateException(
          "CEPH_TEST_PROVIDER=external needs CEPH_CONF, the ceph.conf of client.admin; its keyring"
              + " ceph.client.admin.keyring must lie beside it");
    }
    return new ExternalCluster(Path.of(conf).toAbsolutePath());
  }

  @Override
  public Path conf() {
    return conf;
  }

  @Override
  public String monitors() {
    return Commands.run(List.of("ceph-conf", "-c", conf.toString(), "--lookup", "mon_host"))
        .strip();
  }

  @Override
  public String rbdUser() {
    return "admin";
  }

  @Override
  protected Path keyring(String user) {
    return conf.resolveSibling("ceph.client." + user + ".keyring");
  }

  @Override
  public void close() {
    // It was there before, and stays.
  }
}
