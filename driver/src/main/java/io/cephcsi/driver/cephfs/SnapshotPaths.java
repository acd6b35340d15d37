package io.cephcsi.driver.cephfs;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.cephfs.DirectorySnapshots;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.RecordedMount;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Finds snapshots of subvolumes in the file system itself, those of removed subvolumes too. What is
 * found never changes while the snapshot exists, so it is remembered; whether it still exists, the
 * manager says.
 *
 * <p>A mount lasts as long as the look: a client that dies with a mount open holds up the manager's
 * work on the directories that it saw, until the next process ends its session, or the MDS gives it
 * up after a minute. Safe for several threads.
 */
final class SnapshotPaths implements AutoCloseable {
  private static final int REMEMBERED = 10_000;
  private static final Duration KEEP_UNUSED = Duration.ofHours(1);
  private static final int CLOSERS = 2;
  private static final int CLOSING_QUEUE = 16;

  private final Cache<String, ResolvedSnapshot> found =
      Caffeine.newBuilder().maximumSize(REMEMBERED).expireAfterAccess(KEEP_UNUSED).build();
  private final ExecutorService closers = closers();

  private static ExecutorService closers() {
    ThreadPoolExecutor closers =
        new ThreadPoolExecutor(
            CLOSERS,
            CLOSERS,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(CLOSING_QUEUE),
            DaemonThreads.named("close-mount"));
    closers.allowCoreThreadTimeOut(true);
    return closers;
  }

  /**
   * Finds a snapshot.
   *
   * @param entry of a snapshot
   * @return empty if it is not in the file system
   */
  Optional<ResolvedSnapshot> find(OpenFileSystem files, JournalEntry entry) {
    String key = files.key(entry);
    ResolvedSnapshot known = found.getIfPresent(key);
    if (known != null) {
      return Optional.of(known);
    }
    Optional<ResolvedSnapshot> seen = mounted(files, mount -> look(files, mount, entry));
    seen.ifPresent(snapshot -> found.put(key, snapshot));
    return seen;
  }

  /**
   * Remembers a snapshot that was just taken, so that nobody has to look for it.
   *
   * @param source what the manager said of the subvolume before
   */
  void remember(OpenFileSystem files, JournalEntry entry, SubvolumeInfo source, Instant createdAt) {
    String root = files.subvolumePath(entry.source().orElseThrow(() -> noSource(entry)));
    source
        .path()
        .filter(path -> path.startsWith(root + "/"))
        .map(
            path ->
                root
                    + "/"
                    + DirectorySnapshots.FOLDER
                    + "/"
                    + entry.name()
                    + path.substring(root.length()))
        .ifPresent(
            path ->
                found.put(
                    files.key(entry),
                    new ResolvedSnapshot(
                        root, path, source.quota(), createdAt.truncatedTo(ChronoUnit.SECONDS))));
  }

  /** As {@link #find}, of several; one mount for those that are not known yet. */
  List<Optional<ResolvedSnapshot>> findAll(OpenFileSystem files, List<JournalEntry> entries) {
    List<JournalEntry> unknown =
        entries.stream().filter(entry -> found.getIfPresent(files.key(entry)) == null).toList();
    if (!unknown.isEmpty()) {
      Optional<List<Optional<ResolvedSnapshot>>> seen =
          mounted(
              files,
              mount ->
                  Optional.of(unknown.stream().map(entry -> look(files, mount, entry)).toList()));
      for (int i = 0; seen.isPresent() && i < unknown.size(); i++) {
        String key = files.key(unknown.get(i));
        seen.get().get(i).ifPresent(snapshot -> found.put(key, snapshot));
      }
    }
    return entries.stream()
        .map(entry -> Optional.ofNullable(found.getIfPresent(files.key(entry))))
        .toList();
  }

  /** Looks at a file system from the directory of the subvolumes on; empty if that is not there. */
  <T> Optional<T> mounted(OpenFileSystem files, Function<CephFsMount, Optional<T>> look) {
    return mounted(files.lease(), files.info().name(), files.groupPath(), look);
  }

  /** Looks at a file system from a directory on; empty if that is not there. */
  <T> Optional<T> mounted(
      Lease lease, String fileSystem, String root, Function<CephFsMount, Optional<T>> look) {
    RecordedMount mount;
    try {
      mount = lease.mount(fileSystem, root);
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
    try {
      return look.apply(mount.mount());
    } finally {
      close(mount, lease.share()); // a connection cannot be closed before its mounts
    }
  }

  /** Closing takes a second, which no call has to wait for. */
  private void close(RecordedMount mount, Lease lease) {
    Runnable closing =
        () -> {
          try (lease) {
            mount.close();
          }
        };
    try {
      closers.execute(closing);
    } catch (RejectedExecutionException e) {
      closing.run();
    }
  }

  static Optional<ResolvedSnapshot> look(
      OpenFileSystem files, CephFsMount mount, JournalEntry entry) {
    String subvolume = entry.source().orElseThrow(() -> noSource(entry));
    DirectorySnapshots snapshots = mount.snapshots("/" + subvolume);
    try {
      List<String> contents = snapshots.contents(entry.name());
      Optional<Instant> createdAt = snapshots.createdAt(entry.name());
      if (contents.isEmpty() || createdAt.isEmpty()) {
        return Optional.empty();
      }
      if (contents.size() > 1) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "snapshot " + entry.name() + " of " + subvolume + " has several data directories");
      }
      String path = contents.get(0);
      return Optional.of(
          new ResolvedSnapshot(
              files.subvolumePath(subvolume),
              files.groupPath() + path,
              mount.usage(path).quotaBytes().orElse(0),
              createdAt.get().truncatedTo(ChronoUnit.SECONDS)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static VolumeException noSource(JournalEntry entry) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "damaged journal: snapshot " + entry.uuid() + " does not say of which subvolume it is");
  }

  @Override
  public void close() {
    closers.shutdown();
    try {
      if (!closers.awaitTermination(5, TimeUnit.SECONDS)) {
        closers.shutdownNow();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
