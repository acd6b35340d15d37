package io.cephcsi.driver.app;

import io.cephcsi.driver.cephfs.CephFsVolumes;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.NodeCredentials;
import io.cephcsi.driver.csi.NodeService;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.NodePathCheck;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.cephfs.CephFsMounters;
import io.cephcsi.driver.node.cephfs.CephFsNode;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.operation.OperationRegistry;
import java.nio.file.Path;

/** What serves CephFS on a node, wired. */
final class CephFsNodeParts {
  private CephFsNodeParts() {}

  /** The CSI service. */
  static NodeService csi(
      DriverConfig.Driver driver,
      CephFsVolumes volumes,
      OperationRegistry operations,
      ClusterExecutors executors) {
    Path folder = driver.nodeSettings().folderOf(driver.name());
    CephFsNode node =
        new CephFsNode(
            volumes,
            CephFsMounters.usual(
                new CrushLocation(AffinityLabels.of(driver)), ServerCgroup.of(folder, "ceph-fuse")),
            new Publications(folder.resolve("mounts")),
            new LivenessProbes(RbdNodeParts.MOUNT_TIMEOUT),
            folder,
            driver.endpoint().resolveSibling("mountinfo"));
    return new NodeService(
        RbdNodeParts.identity(driver),
        new NodeCredentials(Storage.CEPHFS, driver.credentials().map(CredentialsDirectory::new)),
        new NodePathCheck(node),
        operations,
        executors);
  }
}
