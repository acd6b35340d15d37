package io.cephcsi.benchmarks;

import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The cluster that is measured: the one whose ceph.conf {@code CEPH_CONF} names, else one that
 * {@code CEPH_TEST_PROVIDER} provides as for the tests: local daemons, a container, or one that is
 * there.
 */
final class BenchCluster {
  private BenchCluster() {}

  static boolean canChooseObjectstore() {
    return named().isEmpty() && TestCluster.canControl();
  }

  /** Of a new cluster of local daemons with this store if one is named. */
  static Path conf(@Nullable String objectstore) {
    return objectstore == null
        ? conf()
        : TestCluster.start("bench", "--objectstore", objectstore).conf();
  }

  static Path conf() {
    return named().orElseGet(() -> TestCluster.shared().conf());
  }

  private static Optional<Path> named() {
    return Optional.ofNullable(System.getenv("CEPH_CONF"))
        .filter(conf -> !conf.isEmpty())
        .map(Path::of);
  }
}
