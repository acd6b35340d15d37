package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;

/**
 * Snapshots of RBD volumes, as images of their own:
 *
 * <pre>
 *   csi-vol-V@(trash: csi-snap-S) ← csi-snap-S@csi-snap-S
 * </pre>
 *
 * or, if the VolumeSnapshotClass says so, as {@link NativeSnapshots}. A later change of the class
 * does not change existing snapshots.
 *
 * <p>All calls block on the cluster and may be repeated after a crash at any point. Locks: the
 * caller has that of the name (create) or the id (delete); create shares the source's id, delete
 * takes the name.
 */
public final class RbdSnapshots {
  private final RbdSessions sessions;

  /**
   * @param sessions of the calls
   */
  public RbdSnapshots(RbdSessions sessions) {
    this.sessions = sessions;
  }

  /**
   * Takes a snapshot, or gives the one that the name has.
   *
   * @param requestName the name that the CO chose
   * @param source the volume
   * @param parameters of the VolumeSnapshotClass
   * @throws VolumeException NOT_FOUND if the source does not exist; ALREADY_EXISTS if the name is
   *     that of another source's snapshot
   */
  public CreatedSnapshot create(
      String requestName, VolumeId source, SnapshotParameters parameters, Credentials user) {
    parameters
        .clusterId()
        .filter(cluster -> !cluster.equals(source.clusterId()))
        .ifPresent(
            cluster -> {
              throw VolumeException.invalid(
                  "parameters: clusterID is \"" + cluster + "\", but that of volume " + source);
            });
    return sessions.in(
        sessions.clusters().requireOf(source, "volume"),
        user,
        session -> {
          try (OperationRegistry.Hold hold =
              session.operations().share(source.toString(), "CreateSnapshot")) {
            return session
                .find(source)
                .map(volume -> new SnapshotCreation(volume, requestName, parameters).run())
                .orElseGet(
                    () ->
                        new SnapshotOfDeletedVolume(session, source, requestName, parameters)
                            .find());
          }
        });
  }

  /**
   * Deletes a snapshot: its image goes to the trash, then the journal entry goes. Volumes made from
   * it live on. One that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials user) {
    sessions.in(
        sessions.clusters().holding(id, "snapshot"),
        user,
        session -> {
          session.pool(id).ifPresent(session::visitTrash);
          session.findSnapshot(id).ifPresent(RbdSnapshots::delete);
          return null;
        });
  }

  private static void delete(OpenSnapshot snapshot) {
    RbdSession session = snapshot.session();
    session.groupJournal(snapshot.pool().io()).requireAlone(snapshot.id(), snapshot.entry());
    String name = OperationRegistry.snapshotName(snapshot.entry().requestName());
    try (OperationRegistry.Hold hold = session.operations().hold(name, "DeleteSnapshot")) {
      new SnapshotDeletion(snapshot).run();
    }
  }
}
