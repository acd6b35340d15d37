package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cephfs.DeletedNames.Deleted;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes what commands to the manager made that were carried out after the deletion of what they
 * were for, as those of a driver that was killed behind a broken network. Only a subvolume or
 * snapshot is removed whose name is among {@link DeletedNames} and that no journal entry has.
 *
 * <p>Some time after a call that may change the cluster, the names are read in the background; if
 * there are any, the directory of the subvolumes is listed, without the manager. Safe for several
 * threads and processes.
 */
final class LateCommands implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LateCommands.class);
  private static final int QUEUE = 100;

  private final ConnectionPool connections;
  private final String instanceId;
  private final SnapshotPaths paths;
  private final Times times;
  private final Set<String> waiting = ConcurrentHashMap.newKeySet();
  private final ClusterWorkers workers = new ClusterWorkers("late-commands", 1, QUEUE);

  /**
   * When names are looked at.
   *
   * @param first after the call
   * @param again after each look, while there are names
   * @param kept how long a name is remembered: longer than a command can be under way, which the
   *     kernel of a machine gives up to send after 15 minutes
   * @param most how long a cluster that does not answer is asked, and a name of another group is
   *     remembered, which only a look at that group tells whether it is needed
   */
  record Times(Duration first, Duration again, Duration kept, Duration most) {
    static final Times USUAL =
        new Times(
            Duration.ofSeconds(20),
            Duration.ofMinutes(1),
            Duration.ofMinutes(20),
            Duration.ofDays(1));
  }

  LateCommands(ConnectionPool connections, String instanceId, SnapshotPaths paths, Times times) {
    this.connections = connections;
    this.instanceId = instanceId;
    this.paths = paths;
    this.times = times;
  }

  /**
   * Has the names of a cluster looked at some time after a call that may have deleted something.
   */
  void lookLater(ClusterConfig cluster, Credentials user, String fsid) {
    // The other secrets of the call are not kept.
    Place place =
        new Place(cluster, new Credentials(user.userId(), user.key()), fsid, System.nanoTime());
    lookAfter(times.first(), place);
  }

  /**
   * Where is looked.
   *
   * @param lookedNanos when a look succeeded, or the first was asked for
   */
  private record Place(ClusterConfig cluster, Credentials user, String fsid, long lookedNanos) {
    /** Two of one Ceph cluster may have different namespaces and subvolume groups. */
    String key() {
      return cluster.clusterId() + "/" + fsid + "/" + user.userId();
    }

    Place looked() {
      return new Place(cluster, user, fsid, System.nanoTime());
    }
  }

  private void lookAfter(Duration delay, Place place) {
    if (waiting.add(place.key())) {
      CompletableFuture.delayedExecutor(delay.toMillis(), TimeUnit.MILLISECONDS, Runnable::run)
          .execute(() -> submit(place));
    }
  }

  private void submit(Place place) {
    try {
      workers.of(place.fsid).execute(() -> look(place));
    } catch (RejectedExecutionException e) {
      waiting.remove(place.key()); // the driver ends, or the next call has it done
    }
  }

  private void look(Place place) {
    waiting.remove(place.key()); // it may not see what is recorded from now on
    Optional<Place> next = Optional.empty();
    try {
      if (connections.connected(place.cluster, place.user, this::look)) {
        next = Optional.of(place.looked());
      }
    } catch (RuntimeException e) {
      LOG.debug("what late commands made on {} could not be looked for", place.fsid, e);
      // A cluster that is gone is not asked for ever; the next call on it begins anew.
      if (mayPass(e) && System.nanoTime() - place.lookedNanos < times.most().toNanos()) {
        next = Optional.of(place);
      }
    }
    next.ifPresent(again -> lookAfter(times.again(), again));
  }

  /**
   * Looks at all file systems.
   *
   * @return whether one has names that have to be looked at again
   * @throws CephException if none has, and one does not answer; likewise VolumeException
   */
  private boolean look(Lease lease) {
    boolean more = false;
    Optional<RuntimeException> unanswered = Optional.empty();
    for (FileSystemInfo info : MonitorQueries.fileSystems(lease.cluster())) {
      try {
        more |= removeLeftovers(OpenFileSystem.open(lease, info, instanceId));
      } catch (CephException | VolumeException e) {
        // As of a file system that this user may not read.
        LOG.debug("file system {} is left out: {}", info.name(), e.getMessage());
        lease.discardIfUnanswered(e);
        unanswered = mayPass(e) ? Optional.of(e) : unanswered;
      }
    }
    if (!more && unanswered.isPresent()) {
      throw unanswered.get();
    }
    return more;
  }

  /** Whether a failure is of the connection, so that the next look may succeed. */
  private static boolean mayPass(RuntimeException failure) {
    return failure instanceof CephException.OutcomeUnknown
        || (failure instanceof VolumeException e && e.reason() == Reason.UNAVAILABLE);
  }

  /**
   * Removes what late commands made in the group of the place. What they made in other groups,
   * whose names may be beside it, only a look there finds.
   *
   * @return whether there are names that have to be looked at again
   */
  private boolean removeLeftovers(OpenFileSystem files) {
    List<Deleted> all = files.deletedNames().all();
    List<Deleted> names = all.stream().filter(name -> isOfGroup(files, name)).toList();
    Instant now = Instant.now();
    List<Deleted> done = removeLeftovers(files, names, now);
    boolean more = done.size() < names.size();
    Instant tooOld = now.minus(times.most());
    all.stream()
        .filter(name -> !isOfGroup(files, name) && name.at().isBefore(tooOld))
        .forEach(done::add);
    if (!done.isEmpty()) {
      files.deletedNames().forget(done);
    }
    return more;
  }

  /**
   * Removes what has one of the names of the group.
   *
   * @return the names that need not be remembered any more
   */
  private List<Deleted> removeLeftovers(OpenFileSystem files, List<Deleted> names, Instant now) {
    List<Deleted> done = new ArrayList<>();
    if (names.isEmpty()) {
      return done;
    }
    Set<Deleted> there =
        paths.mounted(files, mount -> Optional.of(there(mount, names))).orElse(Set.of());
    Instant old = now.minus(times.kept());
    for (Deleted name : names) {
      boolean isLeft =
          there.contains(name)
              && (name.at().isAfter(now) || (!isClaimed(files, name) && !isRemoved(files, name)));
      if (!isLeft && name.at().isBefore(old)) {
        done.add(name);
      }
    }
    return done;
  }

  /** Whether a name may be of the group that is looked at. */
  private static boolean isOfGroup(OpenFileSystem files, Deleted name) {
    return name.group().map(files.lease().config().subvolumeGroup()::equals).orElse(true);
  }

  /** Those that the file system has, apart from what is kept of a subvolume for its snapshots. */
  private static Set<Deleted> there(CephFsMount mount, List<Deleted> names) {
    Set<String> subvolumes = Set.copyOf(mount.names("/"));
    Map<String, List<String>> snapshots = new HashMap<>();
    Set<Deleted> there = new HashSet<>();
    for (Deleted name : names) {
      if (!subvolumes.contains(name.subvolume())) {
        continue;
      }
      if (name.snapshot().isEmpty()) {
        if (!SubvolumeMetadata.isRetained(mount, name.subvolume())) {
          there.add(name);
        }
      } else if (snapshots
          .computeIfAbsent(name.subvolume(), source -> snapshots(mount, source))
          .contains(name.snapshot().get())) {
        there.add(name);
      }
    }
    return there;
  }

  private static List<String> snapshots(CephFsMount mount, String subvolume) {
    try {
      return mount.snapshots("/" + subvolume).names();
    } catch (CephException.NotFound e) {
      return List.of();
    }
  }

  /** Whether there is a journal entry, complete or not. */
  private static boolean isClaimed(OpenFileSystem files, Deleted name) {
    return (name.kind() == JournalKind.VOLUME ? files.volumes() : files.snapshots())
        .isKnown(name.uuid());
  }

  private static boolean isRemoved(OpenFileSystem files, Deleted name) {
    try {
      if (name.snapshot().isPresent()) {
        files.admin().removeSnapshot(name.subvolume(), name.snapshot().get());
      } else {
        CephFsCloner.removeSubvolume(files.admin(), name.subvolume());
      }
      LOG.info(
          "removed {} in file system {}: a late command made it after it was deleted",
          name,
          files.info().name());
      return true;
    } catch (CephException e) {
      LOG.warn(
          "{} in file system {}, which a late command made after it was deleted, could not be"
              + " removed; the next look tries again: {}",
          name,
          files.info().name(),
          e.getMessage());
      return false;
    }
  }

  @Override
  public void close() {
    workers.close();
  }
}
