package io.cephcsi.driver.app;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.NodeCredentials;
import io.cephcsi.driver.csi.NodeIdentity;
import io.cephcsi.driver.csi.NodeService;
import io.cephcsi.driver.csiaddons.KeyRotationService;
import io.cephcsi.driver.csiaddons.NodeReclaimService;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.NodePathCheck;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.FuseAttacher;
import io.cephcsi.driver.node.attach.KrbdAttacher;
import io.cephcsi.driver.node.attach.NbdAttacher;
import io.cephcsi.driver.node.attach.NbdLogs;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.node.rbd.KeyRotation;
import io.cephcsi.driver.node.rbd.NodeReclaimer;
import io.cephcsi.driver.node.rbd.RbdNode;
import io.cephcsi.driver.node.rbd.TrimLocks;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.session.RbdSessions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What serves RBD on a node, wired.
 *
 * @param csi the CSI service
 * @param reclaim frees space
 * @param rotation changes passphrases
 */
record RbdNodeParts(NodeService csi, NodeReclaimService reclaim, KeyRotationService rotation) {
  static final Duration MOUNT_TIMEOUT = Duration.ofSeconds(5);

  static RbdNodeParts of(
      DriverConfig.Driver driver,
      RbdSessions sessions,
      OperationRegistry operations,
      ClusterExecutors executors,
      DriverMetrics metrics) {
    NodeSettings settings = driver.nodeSettings();
    Path folder = settings.folderOf(driver.name());
    Path keys = SecretFile.folder(folder);
    SecretFile.clear(keys);
    ServerCgroup servers = ServerCgroup.of(folder, "rbd-nbd", "qemu-storage-daemon");
    TrimLocks gate = new TrimLocks();
    Attachers attachers =
        new Attachers(
            List.of(
                new KrbdAttacher(new CrushLocation(AffinityLabels.of(driver))),
                new NbdAttacher(keys, servers),
                new FuseAttacher(folder.resolve("fuse"), servers)));
    RbdNode node =
        new RbdNode(
            sessions,
            attachers,
            new NbdLogs(folder.resolve("nbd-logs")),
            new Publications(folder.resolve("mounts")),
            new LivenessProbes(MOUNT_TIMEOUT),
            gate,
            operations,
            keys);
    NodeCredentials access =
        new NodeCredentials(Storage.RBD, driver.credentials().map(CredentialsDirectory::new));
    return new RbdNodeParts(
        new NodeService(identity(driver), access, new NodePathCheck(node), operations, executors),
        new NodeReclaimService(
            new NodeReclaimer(node, gate, settings.reclaimBytesPerSecond(), metrics),
            access,
            operations,
            executors),
        new KeyRotationService(
            new KeyRotation(sessions, attachers, keys)::rotate, operations, executors));
  }

  static NodeIdentity identity(DriverConfig.Driver driver) {
    NodeSettings settings = driver.nodeSettings();
    return new NodeIdentity(driver.nodeId(), settings.maxVolumes(), NodeTopology.of(driver));
  }
}
