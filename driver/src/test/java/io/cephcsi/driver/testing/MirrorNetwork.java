package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.MirroredClusters;
import java.util.List;

/**
 * Two clusters that mirror to each other over a network that can be cut between the sites. The
 * daemon rbd-mirror of each runs on a machine of its own, which always reaches the cluster of its
 * site. Who is not root has no machines: then all is on loopback, and nothing is cut.
 */
public final class MirrorNetwork implements AutoCloseable {
  private static final List<String> ADDRESSES =
      List.of(OtherMachine.address(252), OtherMachine.address(253));
  private static final int FIRST_MACHINE = 20;

  private final MirroredClusters clusters;
  private final List<OtherMachine> machines;

  private MirrorNetwork(MirroredClusters clusters, List<OtherMachine> machines) {
    this.clusters = clusters;
    this.machines = machines;
  }

  /**
   * Starts the clusters. Each JVM has at most one such network at a time.
   *
   * @param name a short word, unique in this JVM
   */
  public static MirrorNetwork start(String name) {
    if (!System.getProperty("user.name").equals("root")) {
      return new MirrorNetwork(MirroredClusters.start(name), List.of());
    }
    ADDRESSES.forEach(OtherMachine::add);
    MirroredClusters clusters = MirroredClusters.start(name, ADDRESSES.get(0), ADDRESSES.get(1));
    MirrorNetwork network =
        new MirrorNetwork(
            clusters, List.of(OtherMachine.up(FIRST_MACHINE), OtherMachine.up(FIRST_MACHINE + 1)));
    clusters.first().runMirrorBy(network.machines.get(0).command());
    clusters.second().runMirrorBy(network.machines.get(1).command());
    return network;
  }

  /** The clusters. */
  public MirroredClusters clusters() {
    return clusters;
  }

  /** Whether the sites can be cut apart. */
  public boolean isPossible() {
    return !machines.isEmpty();
  }

  /** Cuts the sites apart: what their daemons send to the other site is lost. */
  public void cut() {
    route("add");
  }

  /** Joins them again. */
  public void join() {
    route("delete");
  }

  private void route(String change) {
    for (int i = 0; i < machines.size(); i++) {
      Commands.run(
          machines
              .get(i)
              .command("ip", "route", change, "blackhole", ADDRESSES.get(1 - i) + "/32"));
    }
  }

  @Override
  public void close() {
    // Their daemons go with the clusters; a machine goes when nothing runs there.
    try {
      clusters.first().kill(LocalCluster.MIRROR_DAEMON);
      clusters.second().kill(LocalCluster.MIRROR_DAEMON);
      machines.forEach(OtherMachine::close);
      clusters.close();
    } finally {
      if (isPossible()) {
        ADDRESSES.forEach(OtherMachine::remove);
      }
    }
  }
}
