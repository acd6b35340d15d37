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
    return start(name, "127.0.0.1", "127.0.0.1");
  }

  /**
   * Starts them.
   *
   * @param name a short word, unique in this JVM
   * @param first the address that the one listens on
   * @param second that of the other
   */
  public static MirroredClusters start(String name, String first, String second) {
    MirroredClusters both =
        new MirroredClusters(
            TestCluster.start(name + "1", "--address", first),
            TestCluster.start(name + "2", "--address", second));
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
