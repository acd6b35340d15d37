package io.cephcsi.driver.cluster;

import java.util.Set;

/**
 * A pool as the cluster's map describes it.
 *
 * @param id its id
 * @param name its name
 * @param applications what it is for, such as {@code rbd}; empty when nobody said
 * @param erasureCoded whether it cannot hold omaps
 * @param full whether the cluster or a quota made it full: writes wait or fail
 * @param maxBytes its quota; 0 for none
 */
public record PoolInfo(
    long id,
    String name,
    Set<String> applications,
    boolean erasureCoded,
    boolean full,
    long maxBytes) {
  /** Copies the set. */
  public PoolInfo {
    applications = Set.copyOf(applications);
  }

  /** Whether RBD images and journals can be in it. */
  public boolean mayHoldRbd() {
    return !erasureCoded && (applications.isEmpty() || applications.contains("rbd"));
  }
}
