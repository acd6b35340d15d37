package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Set;

/**
 * The parameters of a VolumeGroupClass for RBD, checked.
 *
 * @param clusterId the cluster of the configuration
 * @param pool the pool of the group and of its volumes
 * @param journalPool the pool where the name is reserved
 * @param namePrefix begins the group's name
 */
public record GroupParameters(
    String clusterId, String pool, String journalPool, String namePrefix) {
  /** Begins the name of a group unless the class says otherwise. */
  public static final String DEFAULT_PREFIX = "csi-vol-group-";

  private static final String ADDONS = "csiaddons.openshift.io/";
  private static final String CLUSTER = "clusterID";
  private static final String POOL = "pool";
  private static final String JOURNAL_POOL = "journalPool";
  private static final String PREFIX = "volumeNamePrefix";
  private static final Set<String> KNOWN = Set.of(CLUSTER, POOL, JOURNAL_POOL, PREFIX);

  /**
   * Reads the parameters of a CreateVolumeGroup request.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the parameter, also one that is not known
   */
  public static GroupParameters parse(Map<String, String> parameters) {
    for (String key : parameters.keySet()) {
      if (!KNOWN.contains(key) && !SidecarKeys.contain(key) && !key.startsWith(ADDONS)) {
        throw VolumeException.invalid("parameters: " + key + " is not known for volume groups");
      }
    }
    String clusterId = RbdParameters.required(parameters, CLUSTER);
    VolumeId.requireClusterId(clusterId);
    String pool = RbdParameters.name(parameters, POOL);
    return new GroupParameters(
        clusterId,
        pool,
        parameters.getOrDefault(JOURNAL_POOL, "").isBlank()
            ? pool
            : RbdParameters.name(parameters, JOURNAL_POOL),
        RbdParameters.namePrefix(parameters, PREFIX, DEFAULT_PREFIX));
  }
}
