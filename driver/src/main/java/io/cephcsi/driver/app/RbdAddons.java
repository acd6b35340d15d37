package io.cephcsi.driver.app;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.csiaddons.AddonsIdentityService;
import io.cephcsi.driver.csiaddons.RbdReclaimService;
import io.cephcsi.driver.csiaddons.RbdReplicationService;
import io.cephcsi.driver.csiaddons.RbdVolumeGroupService;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.GroupInventory;
import io.cephcsi.driver.rbd.group.RbdGroups;
import io.cephcsi.driver.rbd.mirror.RbdReplication;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.reclaim.Admission;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.proto.addons.identity.Capability;
import io.grpc.BindableService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What CSI-Addons has of a controller of RBD.
 *
 * @param services serve it
 * @param capabilities what they are advertised as
 */
record RbdAddons(List<BindableService> services, List<Capability> capabilities) {
  /** Two minutes by default, as ceph-csi: its callers wait for three. */
  private static final int PROMOTION_TIMEOUTS = 4;

  /** Three times what daemons wait by default before they look again. */
  private static final Duration DEMOTION_NOTICED = Duration.ofSeconds(90);

  static RbdAddons of(
      DriverConfig config,
      RbdSessions sessions,
      GroupInventory groups,
      DriverMetrics metrics,
      OperationRegistry operations,
      ClusterExecutors executors) {
    List<Capability> capabilities = new ArrayList<>();
    capabilities.add(AddonsIdentityService.offlineReclaim());
    capabilities.addAll(AddonsIdentityService.volumeGroups(config.groupsKeepVolumes()));
    capabilities.addAll(AddonsIdentityService.replication());
    return new RbdAddons(
        List.of(
            new RbdReclaimService(
                sessions,
                new SpaceReclaimer(metrics, new Admission(config.reclaimsPerCluster())),
                operations,
                executors),
            new RbdVolumeGroupService(
                new RbdGroups(sessions), groups, operations, executors, config.groupsKeepVolumes()),
            new RbdReplicationService(
                new RbdReplication(
                    sessions,
                    config.operationTimeout().multipliedBy(PROMOTION_TIMEOUTS),
                    DEMOTION_NOTICED),
                operations,
                executors,
                metrics.copies())),
        capabilities);
  }
}
