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
import java.util.Optional;
import java.util.function.Function;

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
   *     that of another source's snapshot; INVALID_ARGUMENT if the parameters name a cluster where
   *     it is not
   */
  public CreatedSnapshot create(
      String requestName, VolumeId source, SnapshotParameters parameters, Credentials user) {
    requirePossible(source, parameters.clusterId());
    try (OperationRegistry.Hold hold =
        sessions.operations().share(source.toString(), "CreateSnapshot")) {
      Optional<CreatedSnapshot> made =
          sessions.search(
              source,
              user,
              (session, at) ->
                  Optional.of(at)
                      .filter(here -> isIn(parameters, here))
                      .flatMap(here -> session.find(source, here)),
              volume -> new SnapshotCreation(volume, requestName, parameters).run());
      return made.or(() -> ofDeletedVolume(requestName, source, parameters, user))
          .orElseThrow(
              () -> {
                sessions.clusters().requireOf(source, "volume");
                return VolumeException.notFound("volume " + source + " does not exist");
              });
    }
  }

  /** Before anything is asked. */
  private void requirePossible(VolumeId source, Optional<String> cluster) {
    boolean possible =
        cluster.isEmpty()
            || cluster.get().equals(source.clusterId())
            || sessions.clusters().mapping().alternatives(source).stream()
                .anyMatch(at -> at.clusterId().equals(cluster.get()));
    if (!possible) {
      throw VolumeException.invalid(
          "parameters: clusterID is \"" + cluster.get() + "\", but that of volume " + source);
    }
  }

  private static boolean isIn(SnapshotParameters parameters, VolumeId at) {
    return parameters.clusterId().filter(cluster -> !cluster.equals(at.clusterId())).isEmpty();
  }

  private Optional<CreatedSnapshot> ofDeletedVolume(
      String requestName, VolumeId source, SnapshotParameters parameters, Credentials user) {
    return sessions.search(
        source,
        user,
        (session, at) ->
            isIn(parameters, at)
                ? new SnapshotOfDeletedVolume(session, source, at, requestName, parameters).find()
                : Optional.empty(),
        Function.identity());
  }

  /**
   * Deletes a snapshot: its image goes to the trash, then the journal entry goes. Volumes made from
   * it live on. One that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials user) {
    sessions.ifSnapshotPresent(id, user, RbdSession::visitTrash, RbdSnapshots::delete);
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
