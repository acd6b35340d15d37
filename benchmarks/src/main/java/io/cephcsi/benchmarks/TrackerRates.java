package io.cephcsi.benchmarks;

import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;

/**
 * What is a change of a tracker, measured in compound writes of C? All ways change one tracker and
 * take turns in short rounds, so that a busy machine is busy for all of them; printed is the median
 * of the rounds' ratios.
 */
final class TrackerRates {
  private static final int BATCH = 40;
  private static final int WARM_ROUNDS = 20;
  private static final int WARM_CHANGES = 15_000;
  private static final List<String> WAYS =
      List.of(
          "C: one compound write",
          "tracker, steady",
          "tracker, cold",
          "C: getxattr, read, write",
          "Java: getxattr, read, write");

  private TrackerRates() {}

  /**
   * Prints a line for each way.
   *
   * @param args the built tracker.c, how many rounds (500)
   */
  public static void main(String[] args) {
    int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 500;
    ClusterState state = new ClusterState();
    state.connect();
    String id = "0001-0003-bar-0000000000000001-" + UUID.randomUUID();
    String key = "csi-vol-" + UUID.randomUUID();
    double[][] micros = new double[WAYS.size()][rounds];
    try (BaselineServer c =
        BaselineServer.start(
            args[0], System.getenv("CEPH_CONF"), state.io.pool(), state.io.namespace(), id)) {
      c.nanos("write", 2); // it has made the tracker
      ReferenceTracker tracker = new ReferenceTracker(new RadosTrackerStore(state.io));
      PeerSequence peer = new PeerSequence(state.io, id);
      for (int i = 0; i < WARM_CHANGES; i++) { // or the interpreter is measured: 60 us a change
        tracker.add(id, List.of(id, key));
        tracker.remove(id, key);
      }
      for (int round = -WARM_ROUNDS; round < rounds; round++) {
        double[] took = {
          c.nanos("write", BATCH),
          steady(tracker, id, key),
          nanos(() -> cold(state).add(id, List.of(id, key)), () -> cold(state).remove(id, key)),
          c.nanos("sequence", BATCH),
          nanos(() -> peer.add(id, key), () -> peer.remove(id, key))
        };
        for (int way = 0; way < took.length && round >= 0; way++) {
          micros[way][round] = took[way] / BATCH / 1000;
        }
      }
    }
    state.disconnect();
    print(micros);
  }

  private static ReferenceTracker cold(ClusterState state) {
    return new ReferenceTracker(new RadosTrackerStore(state.io));
  }

  private static long steady(ReferenceTracker tracker, String id, String key) {
    tracker.add(id, List.of(id)); // sees what the others wrote
    return nanos(() -> tracker.add(id, List.of(id, key)), () -> tracker.remove(id, key));
  }

  private static long nanos(Runnable add, Runnable remove) {
    long start = System.nanoTime();
    for (int i = 0; i < BATCH; i += 2) {
      add.run();
      remove.run();
    }
    return System.nanoTime() - start;
  }

  private static void print(double[][] micros) {
    System.out.printf("%-30s %12s %12s %12s%n", "a change by", "median us", "p99 us", "ratio to C");
    for (int way = 0; way < micros.length; way++) {
      double[] ratios = new double[micros[way].length];
      for (int round = 0; round < ratios.length; round++) {
        ratios[round] = micros[way][round] / micros[0][round];
      }
      System.out.printf(
          Locale.ROOT,
          "%-30s %12.0f %12.0f %12.2f%n",
          WAYS.get(way),
          percentile(micros[way], 50),
          percentile(micros[way], 99),
          percentile(ratios, 50));
    }
  }

  private static double percentile(double[] values, int percent) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
  }
}
