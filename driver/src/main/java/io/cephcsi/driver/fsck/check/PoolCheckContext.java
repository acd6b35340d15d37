package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.Suspicions;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.JournalKind;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;

/**
 * What the checks of one pool and namespace share. Safe for several threads.
 *
 * @param io the pool and namespace
 * @param settings how the check is carried out
 * @param workers the threads
 * @param suspicions where to put what looks wrong
 * @param progress how far it is
 * @param lists what was read before
 * @param live asks the cluster
 * @param contentOf makes what checks that for which entries stand
 * @param nodes when each registered node was last there
 */
record PoolCheckContext(
    IoContext io,
    CheckSettings settings,
    Workers workers,
    Suspicions suspicions,
    CheckProgress progress,
    PoolLists lists,
    LiveFacts live,
    Function<PoolCheckContext, EntryContent> contentOf,
    Map<String, Instant> nodes) {

  /** What checks that entries stand for. */
  EntryContent content() {
    return contentOf.apply(this);
  }

  /** The pool, as findings name it. */
  String place() {
    return PoolLists.place(io);
  }

  /** An image or id as the command {@code rbd} takes it. */
  String path(String name) {
    return place() + "/" + name;
  }

  /** The instances of a kind of all pools that are checked. */
  Set<String> instances(JournalKind kind) {
    return Set.copyOf(live.instances().getOrDefault(kind, Set.of()));
  }

  /** What an image takes, in bytes, by its object map; empty if that cannot be said. */
  OptionalLong bytes(String imageId) {
    workers.turn();
    try {
      return new UsageMeter(new RbdPool(io))
          .byObjectMap(imageId)
          .map(usage -> OptionalLong.of(usage.totalBytes()))
          .orElse(OptionalLong.empty());
    } catch (CephException e) {
      return OptionalLong.empty();
    }
  }

  /**
   * What only one snapshot of an image holds, in bytes, by object maps; empty as {@link #bytes}.
   */
  OptionalLong bytes(String imageId, long snapshotId) {
    workers.turn();
    try {
      return new UsageMeter(new RbdPool(io)).bytesOnlyIn(imageId, snapshotId);
    } catch (CephException e) {
      return OptionalLong.empty();
    }
  }

  /** The words of a command about an object of the pool. */
  String[] rados(String... words) {
    String[] begin =
        io.namespace().isEmpty()
            ? new String[] {"rados", "-p", io.pool()}
            : new String[] {"rados", "-p", io.pool(), "-N", io.namespace()};
    String[] all = java.util.Arrays.copyOf(begin, begin.length + words.length);
    System.arraycopy(words, 0, all, begin.length, words.length);
    return all;
  }

  /** What still is wrong of all that looked wrong; see {@link Suspicions#confirm}. */
  List<Finding> confirm() {
    List<Finding> findings = new ArrayList<>(suspicions.confirm());
    for (String what : lists.incomplete()) {
      findings.add(
          Finding.of(
              FindingKind.UNREADABLE,
              place(),
              what,
              "a key with a zero byte keeps what follows from being read"));
    }
    if (suspicions.leftOut() > 0) {
      findings.add(
          Finding.of(
              FindingKind.UNREADABLE,
              place(),
              "the pool",
              suspicions.leftOut() + " more things look wrong and were not looked at again"));
    }
    return findings;
  }
}
