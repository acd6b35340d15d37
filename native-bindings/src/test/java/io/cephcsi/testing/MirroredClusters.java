package io.cephcsi.testing;

/**
 * Two clusters on loopback that mirror images of their pools {@code rbd} to each other, each by a
 * daemon of its own, which can be stopped and started. They end with the JVM.
 */
public final class MirroredClusters implements AutoCloseable {
  private final LocalCluster first;
  private final LocalCluster second;

  private MirroredClusters(LocalCluster first, LocalCluster second) {
    this.first = first;
    this.second = second;
  }

  /**
   * Starts them.
   *
   * @param name a short word, unique in this JVM
   */
  public static MirroredClusters start(String name) {
    MirroredClusters both =
        new MirroredClusters(TestCluster.start(name + "1"), TestCluster.start(name + "2"));
    both.first.mirrorWith(both.second);
    return both;
  }

  /** One of the two. */
  public LocalCluster first() {
    return first;
  }

  /** The other. */
  public LocalCluster second() {
    return second;
  }

  /** Kills the daemons that mirror: nothing gets from one cluster to the other. */
  public void cut() {
    first.kill(LocalCluster.MIRROR_DAEMON);
    second.kill(LocalCluster.MIRROR_DAEMON);
  }

  /** Starts those daemons again that do not run. */
  public void join() {
    first.restart(LocalCluster.MIRROR_DAEMON);
    second.restart(LocalCluster.MIRROR_DAEMON);
  }

  @Override
  public void close() {
    first.close();
    second.close();
  }
}
