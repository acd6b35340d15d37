package io.cephcsi.driver.node;

import io.cephcsi.driver.cluster.Credentials;
import java.util.Optional;

/** Who may work on clusters for a call that may or may not carry secrets. */
@FunctionalInterface
public interface ClusterUsers {
  /**
   * The user for a cluster of the configuration.
   *
   * @return empty when there is none
   */
  Optional<Credentials> of(String clusterId);
}
