package io.cephcsi.driver.fsck;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Collects what looks wrong in the first pass, which compares states of different moments, and
 * reports what still is wrong in two further looks, some time apart. So what drivers do meanwhile
 * is not reported. Safe for several threads.
 */
public final class Suspicions {
  /** More than this many are too many to be looked at again. */
  static final int MAX = 200_000;

  private final Workers workers;
  private final Duration settle;
  private final CheckProgress progress;
  private final Queue<Suspect> subjects = new ConcurrentLinkedQueue<>();
  private final AtomicInteger count = new AtomicInteger();
  private final AtomicInteger leftOut = new AtomicInteger();

  private record Suspect(String place, String name, Subject subject) {}

  private record Looked(Suspect suspect, List<Finding> findings) {}

  /** Collects for a check. */
  public Suspicions(Workers workers, CheckSettings settings, CheckProgress progress) {
    this.workers = workers;
    this.settle = settings.settle();
    this.progress = progress;
  }

  /**
   * Adds something that looks wrong.
   *
   * @param place pool or file system
   * @param name of the subject, for a message
   */
  public void add(String place, String name, Subject subject) {
    if (count.incrementAndGet() > MAX) {
      leftOut.incrementAndGet();
    } else {
      subjects.add(new Suspect(place, name, subject));
    }
  }

  /** How many things looked wrong and were too many to be looked at again. */
  public int leftOut() {
    return leftOut.get();
  }

  /** What is wrong; forgets all that was collected. Takes twice the time to settle. */
  public List<Finding> confirm() {
    if (subjects.isEmpty()) {
      return List.of();
    }
    List<Suspect> suspects = new ArrayList<>(subjects);
    subjects.clear();
    count.set(0);
    List<Looked> first = look(suspects);
    List<Suspect> still =
        first.stream().filter(looked -> !looked.findings.isEmpty()).map(Looked::suspect).toList();
    if (still.isEmpty()) {
      return List.of();
    }
    Set<String> before =
        first.stream()
            .flatMap(looked -> looked.findings.stream())
            .map(Finding::key)
            .collect(Collectors.toSet());
    Set<String> seen = new java.util.HashSet<>();
    return look(still).stream()
        .flatMap(looked -> looked.findings.stream())
        .filter(finding -> before.contains(finding.key()))
        .filter(finding -> seen.add(finding.key()))
        .sorted(
            java.util.Comparator.comparing(Finding::kind)
                .thenComparing(Finding::place)
                .thenComparing(Finding::object))
        .toList();
  }

  private List<Looked> look(List<Suspect> suspects) {
    progress.begin("waiting before another look at " + suspects.size() + " things", 0);
    long end = System.nanoTime() + settle.toNanos();
    long rest = settle.toNanos();
    while (rest > 0 && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(rest);
      rest = end - System.nanoTime();
    }
    progress.begin("looking again", suspects.size());
    Queue<Looked> looked = new ConcurrentLinkedQueue<>();
    workers.each(
        suspects.iterator(),
        suspect -> {
          looked.add(new Looked(suspect, look(suspect)));
          progress.step();
        });
    return new ArrayList<>(looked);
  }

  private static List<Finding> look(Suspect suspect) {
    try {
      return suspect.subject.look();
    } catch (RuntimeException e) {
      return List.of(unreadable(suspect.place, suspect.name, e));
    }
  }

  /**
   * The first look at a subject, by the lists that were read. What cannot be read is looked at
   * again.
   */
  public void suspect(String place, String name, Subject subject, Subject live) {
    try {
      if (!subject.look().isEmpty()) {
        add(place, name, live);
      }
    } catch (RuntimeException e) {
      unreadable(place, name, e);
      add(place, name, live);
    }
  }

  /**
   * A finding for what cannot be read, because of what others wrote there.
   *
   * @throws RuntimeException what was thrown, if the cluster does not answer, or the user may not
   *     read: that is no damage
   */
  public static Finding unreadable(String place, String name, RuntimeException e) {
    if (e instanceof CephException.Denied
        || e instanceof CephException.OutcomeUnknown
        || e instanceof CephException.TimedOut
        || Thread.currentThread().isInterrupted()) {
      throw e;
    }
    String message =
        e instanceof CephException || e instanceof VolumeException
            ? String.valueOf(e.getMessage())
            : e.toString();
    return Finding.of(FindingKind.UNREADABLE, place, name, message);
  }
}
