package io.cephcsi.benchmarks;

import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.RemoveResult;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** How many references can be added to a snapshot's tracker, and removed again, in a second? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls prepare first
public class TrackerBenchmark {
  private static final int MANY = 64;

  /** How many other references the tracker has. */
  @Param({"1", "500"})
  int references;

  private final ClusterState cluster = new ClusterState();
  private String snapshotId;
  private ReferenceTracker tracker;
  private PeerSequence peer;

  /** The key of a thread. */
  @State(Scope.Thread)
  public static class Key {
    final String name = "csi-vol-" + UUID.randomUUID();
  }

  /** Makes the tracker. */
  @Setup(Level.Trial)
  public void prepare() {
    cluster.connect(); // not a state of JMH's, which it may disconnect before remove
    snapshotId = "0001-0003-bar-0000000000000001-" + UUID.randomUUID();
    tracker = new ReferenceTracker(new RadosTrackerStore(cluster.io));
    peer = new PeerSequence(cluster.io, snapshotId);
    tracker.add(snapshotId, List.of(snapshotId));
    for (int i = 1; i < references; i++) {
      tracker.add(snapshotId, List.of("csi-vol-" + i));
    }
  }

  /** Takes all references away. */
  @TearDown(Level.Trial)
  public void remove() {
    for (int i = 1; i < references; i++) {
      tracker.remove(snapshotId, "csi-vol-" + i);
    }
    if (tracker.remove(snapshotId, snapshotId) != RemoveResult.LAST) {
      throw new IllegalStateException("references were left");
    }
    cluster.disconnect();
  }

  /** One client. */
  @Benchmark
  @OperationsPerInvocation(2)
  public void steady(Key key) {
    tracker.add(snapshotId, List.of(snapshotId, key.name));
    tracker.remove(snapshotId, key.name);
  }

  /** One client that remembers nothing: as the first call after a start. */
  @Benchmark
  @OperationsPerInvocation(2)
  public void cold(Key key) {
    new ReferenceTracker(new RadosTrackerStore(cluster.io))
        .add(snapshotId, List.of(snapshotId, key.name));
    new ReferenceTracker(new RadosTrackerStore(cluster.io)).remove(snapshotId, key.name);
  }

  /** 64 clients of one process. */
  @Benchmark
  @Threads(MANY)
  @OperationsPerInvocation(2)
  public void contended(Key key) {
    tracker.add(snapshotId, List.of(snapshotId, key.name));
    tracker.remove(snapshotId, key.name);
  }

  /** One client in the steps of ceph-csi. */
  @Benchmark
  @OperationsPerInvocation(2)
  public void peerSteady(Key key) {
    peer.add(snapshotId, key.name);
    peer.remove(snapshotId, key.name);
  }

  /** 64 clients in the steps of ceph-csi. */
  @Benchmark
  @Threads(MANY)
  @OperationsPerInvocation(2)
  public void peerContended(Key key) {
    peer.add(snapshotId, key.name);
    peer.remove(snapshotId, key.name);
  }
}
