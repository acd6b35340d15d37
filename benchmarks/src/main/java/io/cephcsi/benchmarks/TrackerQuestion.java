package io.cephcsi.benchmarks;

import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * What is a change of a reference tracker, measured in compound writes of C and in the steps of
 * ceph-csi? All ways change one tracker and take turns in short rounds.
 */
final class TrackerQuestion implements Question {
  private static final int BATCH = 100;
  private static final int WARM_CHANGES = 15_000; // or the interpreter is measured: 60 us a change
  private static final int MANY = 64;
  private static final String PEER_STEPS = "getxattr, read, write";

  private final String id = "0001-0003-bar-0000000000000001-" + UUID.randomUUID();
  private final String key = "csi-vol-" + UUID.randomUUID();

  @Override
  public List<Finding> ask(BenchSetup setup) throws Exception {
    int rounds = setup.scaled(200, 50);
    double[] steady = new double[rounds];
    double[] cold = new double[rounds];
    double[] write = new double[rounds];
    double[] sequence = new double[rounds];
    withTracker(
        setup,
        (tracker, state, c) -> change(tracker, setup.scaled(WARM_CHANGES, WARM_CHANGES / 3)));
    for (int connection = 0; connection < Turns.CONNECTIONS; connection++) {
      int from = rounds * connection / Turns.CONNECTIONS;
      int to = rounds * (connection + 1) / Turns.CONNECTIONS;
      withTracker(
          setup,
          (tracker, state, c) -> {
            for (int at = from; at < to; at++) {
              Turns turns = new Turns(setup, c, at % 2 == 0);
              double[] change = turns.seconds(n -> change(tracker, n), "write", BATCH);
              steady[at] = change[0] * 1e6 / BATCH;
              write[at] = change[1] * 1e6 / BATCH;
              double[] steps = turns.seconds(n -> changeCold(state, n), "sequence", BATCH);
              cold[at] = steps[0] * 1e6 / BATCH;
              sequence[at] = steps[1] * 1e6 / BATCH;
            }
          });
    }
    List<Finding> together = new ArrayList<>();
    withTracker(setup, (tracker, state, c) -> together.add(together(setup, tracker, state)));
    return List.of(
        Finding.time("tracker", "a change of a tracker", "us", steady)
            .beside(Finding.C, write)
            .atLeast(Finding.C, 1 / 1.1)
            .beside(PEER_STEPS, sequence)
            .atLeast(PEER_STEPS, 2),
        Finding.time("tracker-cold", "the same, remembering nothing", "us", cold)
            .beside(Finding.C, write)
            .beside(PEER_STEPS, sequence),
        together.get(0));
  }

  /** Connects, and has the program in C make the tracker. */
  private void withTracker(BenchSetup setup, Asked asked) throws Exception {
    ClusterState state = new ClusterState();
    state.connect(setup.conf());
    try (BaselineServer c =
        BaselineServer.start(
            setup.program("tracker"),
            setup.conf().toString(),
            state.io.pool(),
            state.io.namespace(),
            id)) {
      c.nanos("write", 2); // it has made the tracker
      asked.of(new ReferenceTracker(new RadosTrackerStore(state.io)), state, c);
    } finally {
      state.disconnect();
    }
  }

  private void change(ReferenceTracker tracker, int count) {
    for (int i = 0; i < count; i += 2) {
      tracker.add(id, List.of(id, key));
      tracker.remove(id, key);
    }
  }

  private void changeCold(ClusterState state, int count) {
    for (int i = 0; i < count; i += 2) {
      new ReferenceTracker(new RadosTrackerStore(state.io)).add(id, List.of(id, key));
      new ReferenceTracker(new RadosTrackerStore(state.io)).remove(id, key);
    }
  }

  /** 64 clients of one process; in the steps of ceph-csi each tries again until it succeeds. */
  private Finding together(BenchSetup setup, ReferenceTracker tracker, ClusterState state)
      throws Exception {
    PeerSequence peer = new PeerSequence(state.io, id);
    int rounds = setup.scaled(9, 5);
    double[] ours = new double[rounds];
    double[] theirs = new double[rounds];
    ExecutorService threads = Executors.newFixedThreadPool(MANY);
    try {
      for (int round = -1; round < rounds; round++) {
        int at = Math.max(round, 0);
        int each = 40;
        ours[at] =
            2
                * each
                * MANY
                / setup.seconds(
                    () ->
                        all(
                            threads,
                            each,
                            own -> {
                              tracker.add(id, List.of(id, own));
                              tracker.remove(id, own);
                            }));
        long start = System.nanoTime();
        all(
            threads,
            1,
            own -> {
              peer.add(id, own);
              peer.remove(id, own);
            });
        theirs[at] = 2 * MANY / ((System.nanoTime() - start) / 1e9);
      }
    } finally {
      threads.shutdown();
    }
    return Finding.rate("tracker-64", "changes of one tracker by 64 clients", "1/s", ours)
        .beside(PEER_STEPS, theirs)
        .atLeast(PEER_STEPS, 2);
  }

  private static void all(ExecutorService threads, int times, Change change)
      throws IOException, InterruptedException {
    List<Future<?>> running = new ArrayList<>();
    for (int thread = 0; thread < MANY; thread++) {
      String own = "csi-vol-" + UUID.randomUUID();
      running.add(
          threads.submit(
              () -> {
                for (int i = 0; i < times; i++) {
                  change.of(own);
                }
              }));
    }
    for (Future<?> one : running) {
      try {
        one.get();
      } catch (ExecutionException e) {
        throw new IOException(e);
      }
    }
  }

  /** A change and its undoing, of a key. */
  @FunctionalInterface
  private interface Change {
    void of(String key);
  }

  /** What is asked of a tracker. */
  @FunctionalInterface
  private interface Asked {
    void of(ReferenceTracker tracker, ClusterState state, BaselineServer c) throws Exception;
  }
}
