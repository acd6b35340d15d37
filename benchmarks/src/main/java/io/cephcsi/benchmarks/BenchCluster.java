package io.cephcsi.benchmarks;

import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;

/**
 * The cluster that is measured: the one whose ceph.conf {@code CEPH_CONF} names, else one that
 * {@code CEPH_TEST_PROVIDER} provides as for the tests: local daemons, a container, or one that is
 * there.
 */
final class BenchCluster {
  private BenchCluster() {}

  static Path conf() {
    String conf = System.getenv("CEPH_CONF");
    return conf == null || conf.isEmpty() ? TestCluster.shared().conf() : Path.of(conf);
  }
}
