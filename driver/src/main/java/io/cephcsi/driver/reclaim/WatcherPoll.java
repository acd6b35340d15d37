package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.cluster.DaemonThreads;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls whether another client has opened an image that is being reclaimed, and whether its lock is
 * lost. A thread of its own asks the cluster, so that the work, which asks {@link
 * #otherWatcherSeen()}, {@link #lockIsLost()} and {@link #isOutdated()}, never waits for the
 * answer.
 */
final class WatcherPoll implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WatcherPoll.class);
  private static final Duration INTERVAL = Duration.ofMillis(40);
  private static final Duration OUTDATED = Duration.ofSeconds(20); // before a watch expires

  private final RbdImage image;
  private final long ourClientId;
  private final Set<Long> daemons;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread;
  private final boolean locked;
  private final LastAnswer answer = new LastAnswer();
  private volatile boolean otherWatcherSeen;
  private volatile boolean lockIsLost;

  private WatcherPoll(RbdImage image, long ourClientId, Set<Long> daemons, boolean locked) {
    this.image = image;
    this.ourClientId = ourClientId;
    this.daemons = daemons;
    this.locked = locked;
    this.thread = DaemonThreads.of("reclaim-watch", this::watch);
  }

  /**
   * Starts watching.
   *
   * @param ourClientId the id of the connection that the image was opened by
   * @param daemons the clients that mirror the image; one that begins to is taken for a user
   * @param locked whether this open image holds the managed lock
   */
  static WatcherPoll start(RbdImage image, long ourClientId, Set<Long> daemons, boolean locked) {
    WatcherPoll watch = new WatcherPoll(image, ourClientId, daemons, locked);
    watch.otherWatcherSeen = watch.othersWatch();
    watch.thread.start();
    return watch;
  }

  /** Whether another client opened the image, or the cluster does not answer; does not block. */
  boolean otherWatcherSeen() {
    return otherWatcherSeen;
  }

  /** Whether the lock was taken away, or the cluster does not say: does not block. */
  boolean lockIsLost() {
    return lockIsLost;
  }

  /**
   * Whether what is known is too old to write by: this machine or process stood still, or the
   * cluster does not answer. Others may have the lock since, and the blocklist entry by which they
   * took it may have expired. Does not block.
   */
  boolean isOutdated() {
    return answer.isOlderThan(OUTDATED);
  }

  private void watch() {
    try {
      while (!otherWatcherSeen
          && !lockIsLost
          && !ended.await(INTERVAL.toMillis(), TimeUnit.MILLISECONDS)) {
        LastAnswer.Moment asked = answer.now();
        otherWatcherSeen = othersWatch();
        lockIsLost = locked && !isOwner();
        answer.answered(asked);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      otherWatcherSeen = true;
    }
  }

  private boolean othersWatch() {
    try {
      List<Watcher> others =
          image.otherWatchers(ourClientId).stream()
              .filter(other -> !daemons.contains(other.clientId()))
              .toList();
      if (!others.isEmpty()) {
        LOG.info("{} was opened by {}", image, others.get(0).address());
      }
      return !others.isEmpty();
    } catch (RuntimeException e) {
      LOG.warn("{}: its watchers cannot be listed: {}", image, e.toString());
      return true;
    }
  }

  private boolean isOwner() {
    try {
      return image.lock().isOwner();
    } catch (RuntimeException e) {
      LOG.warn("{}: the owner of its lock cannot be read: {}", image, e.toString());
      return false;
    }
  }

  @Override
  public void close() {
    ended.countDown();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join(); // it uses the image, which is closed next
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
