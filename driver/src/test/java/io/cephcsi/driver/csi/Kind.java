package io.cephcsi.driver.csi;

import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import java.time.Instant;
import java.util.List;

/** A kind of storage: where the same rules have other examples. */
enum Kind {
  RBD {
    @Override
    TestDriver start(TestCluster cluster, String instance, boolean credentials) {
      return TestDriver.rbd(cluster).instance(instance).credentials(credentials).start();
    }

    @Override
    List<RPC.Type> moreCapabilities() {
      return List.of(RPC.Type.MODIFY_VOLUME);
    }

    @Override
    boolean hasTopology() {
      return true;
    }

    @Override
    boolean expandsOnNode() {
      return true;
    }

    @Override
    VolumeCapability unsupported() {
      return mounted(Mode.MULTI_NODE_MULTI_WRITER);
    }

    @Override
    VolumeCapability shared() {
      return ConformanceCase.block(Mode.MULTI_NODE_MULTI_WRITER);
    }

    @Override
    Omaps journal(TestCluster cluster) {
      return new Omaps(cluster, cluster.pool(), "");
    }

    @Override
    void registerNode(TestCluster cluster, String instance, String node) {
      register(cluster, node, "-p", cluster.pool(), "setomapval", "csi.java.nodes." + instance);
    }
  },
  CEPHFS {
    @Override
    TestDriver start(TestCluster cluster, String instance, boolean credentials) {
      return TestDriver.cephFs(cluster).instance(instance).credentials(credentials).start();
    }

    @Override
    List<RPC.Type> moreCapabilities() {
      return List.of(RPC.Type.MODIFY_VOLUME);
    }

    @Override
    boolean hasTopology() {
      return false;
    }

    @Override
    boolean expandsOnNode() {
      return false;
    }

    @Override
    VolumeCapability unsupported() {
      return ConformanceCase.block(Mode.SINGLE_NODE_WRITER);
    }

    @Override
    VolumeCapability shared() {
      return mounted(Mode.MULTI_NODE_MULTI_WRITER);
    }

    @Override
    Omaps journal(TestCluster cluster) {
      return new Omaps(cluster, "cephfs.metadata", "csi");
    }

    @Override
    void registerNode(TestCluster cluster, String instance, String node) {
      register(
          cluster,
          node,
          "-p",
          "cephfs.metadata",
          "-N",
          "csi",
          "setomapval",
          "csi.java.nodes." + instance);
    }
  };

  /** Starts a driver, with or without credentials of its own. */
  abstract TestDriver start(TestCluster cluster, String instance, boolean credentials);

  /** What it can do beyond what all can. */
  abstract List<RPC.Type> moreCapabilities();

  /** Whether volumes have the topology of the nodes. */
  abstract boolean hasTopology();

  /** Whether a node has to do something after a volume grew. */
  abstract boolean expandsOnNode();

  /** A use that no volume can have. */
  abstract VolumeCapability unsupported();

  /** A use by several nodes that write. */
  abstract VolumeCapability shared();

  /** Where its journal is. */
  abstract Omaps journal(TestCluster cluster);

  /** Does what the node plugin on another machine does. */
  abstract void registerNode(TestCluster cluster, String instance, String node);

  private static VolumeCapability mounted(Mode mode) {
    return TestDriver.singleWriter().toBuilder()
        .setAccessMode(VolumeCapability.AccessMode.newBuilder().setMode(mode))
        .build();
  }

  private static void register(TestCluster cluster, String node, String... command) {
    String[] args = java.util.Arrays.copyOf(command, command.length + 2);
    args[command.length] = node;
    args[command.length + 1] = Instant.now().toString();
    cluster.rados(args);
  }
}
