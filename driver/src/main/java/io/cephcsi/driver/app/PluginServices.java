package io.cephcsi.driver.app;

import io.cephcsi.proto.csi.v1.PluginCapability;
import java.util.ArrayList;
import java.util.List;

/** What GetPluginCapabilities says beside the controller itself. */
final class PluginServices {
  private PluginServices() {}

  /**
   * Of RBD. Volumes have a topology only where nodes have one: if it is advertised, the
   * external-provisioner provisions nothing for nodes without.
   */
  static List<PluginCapability.Service.Type> rbd(DriverConfig.Driver driver) {
    List<PluginCapability.Service.Type> services = new ArrayList<>();
    services.add(PluginCapability.Service.Type.GROUP_CONTROLLER_SERVICE);
    services.add(PluginCapability.Service.Type.SNAPSHOT_METADATA_SERVICE);
    if (driver.nodeSettings().hasTopology()) {
      services.add(PluginCapability.Service.Type.VOLUME_ACCESSIBILITY_CONSTRAINTS);
    }
    return services;
  }

  /**
   * Of CephFS.
   *
   * @param groupSnapshots whether a cluster can pause several volumes at once
   */
  static List<PluginCapability.Service.Type> cephFs(boolean groupSnapshots) {
    return groupSnapshots
        ? List.of(PluginCapability.Service.Type.GROUP_CONTROLLER_SERVICE)
        : List.of();
  }
}
