package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.background.Flattener;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.background.MgrTasks;
import io.cephcsi.driver.rbd.background.TrashQueue;
import io.cephcsi.driver.rbd.background.TrashRemoval;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.function.Function;

/**
 * Opens the session of each call on RBD, and owns the work in the background: the removal of images
 * from the trash, and flattening. Safe for several threads; calls block on the cluster.
 */
public final class RbdSessions implements AutoCloseable {
  private final ClusterDirectory clusters;
  private final ConnectionPool connections;
  private final ClusterExecutors executors;
  private final OperationRegistry operations;
  private final RbdSettings settings;
  private final ManagerCommands managers = new ManagerCommands();
  private final MgrTasks tasks = new MgrTasks(managers);
  private final Flattener flattener = new Flattener(tasks);
  private final TrashQueue trash;

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param executors threads to read with
   * @param operations where names and ids are locked
   * @param settings how volumes are treated
   */
  public RbdSessions(
      ClusterDirectory clusters,
      ConnectionPool connections,
      ClusterExecutors executors,
      OperationRegistry operations,
      RbdSettings settings) {
    this.clusters = clusters;
    this.connections = connections;
    this.executors = executors;
    this.operations = operations;
    this.settings = settings;
    this.trash = new TrashQueue(connections, new TrashRemoval(tasks, settings.instanceId()));
  }

  /** The configured clusters. */
  public ClusterDirectory clusters() {
    return clusters;
  }

  /** Works on a cluster. */
  public <T> T in(ClusterConfig cluster, Credentials user, Function<RbdSession, T> work) {
    return connections.connected(
        cluster, user, lease -> work.apply(new RbdSession(this, lease, user)));
  }

  /**
   * Works on a volume that exists.
   *
   * @throws VolumeException NOT_FOUND if it does not
   */
  public <T> T with(VolumeId id, Credentials user, Function<OpenVolume, T> work) {
    return in(
        clusters.requireOf(id, "volume"),
        user,
        session ->
            work.apply(
                session
                    .find(id)
                    .orElseThrow(
                        () -> VolumeException.notFound("volume " + id + " does not exist"))));
  }

  /**
   * Works on an image that no driver made; whether it exists shows when it is opened.
   *
   * @throws VolumeException INVALID_ARGUMENT if the cluster is not configured; NOT_FOUND if it has
   *     no such pool
   */
  public <T> T with(StaticImage image, Credentials user, Function<OpenImage, T> work) {
    return connections.connected(
        clusters.require(image.clusterId()),
        user,
        lease ->
            work.apply(new OpenImage(image.volumeId(), lease, pool(image, lease), image.name())));
  }

  private static RbdPool pool(StaticImage image, Lease lease) {
    try {
      return new RbdPool(lease.rbdPool(image.pool()));
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.NOT_FOUND,
          "volume "
              + image.volumeId()
              + " does not exist: cluster \""
              + image.clusterId()
              + "\" has no pool "
              + image.pool(),
          e);
    }
  }

  ConnectionPool connections() {
    return connections;
  }

  ClusterExecutors executors() {
    return executors;
  }

  OperationRegistry operations() {
    return operations;
  }

  /** How volumes are treated. */
  public RbdSettings settings() {
    return settings;
  }

  Flattener flattener() {
    return flattener;
  }

  ManagerCommands managers() {
    return managers;
  }

  TrashQueue trash() {
    return trash;
  }

  /** Ends the work in the background. */
  @Override
  public void close() {
    flattener.close();
    trash.close();
    managers.close();
  }
}
