package io.cephcsi.benchmarks;

import java.io.IOException;

/**
 * Times the same work of ours and of C in turns.
 *
 * <p>Who comes first after a pause is slower by some hundredths, as the OSD and the processors have
 * to wake up, and who comes after the other may have to see what that one changed. So before each
 * turn go some that do not count, and the turns are ours, C, C, ours; or the other way round in
 * every other round.
 *
 * @param oursFirst whether we come first and last
 */
record Turns(BenchSetup setup, BaselineServer baseline, boolean oursFirst) {
  /**
   * How often both sides connect anew in a run: two connections of one program differ by up to 5 %,
   * as threads of the OSD and of the client are shared out anew.
   */
  static final int CONNECTIONS = 5;

  /**
   * Does it twice each.
   *
   * @param ours does it so often as it is told, an even number
   * @param what the same in C
   * @param count how often in one turn, an even number
   * @return the mean seconds of ours, and of C
   */
  double[] seconds(Batch ours, String what, int count) throws IOException, InterruptedException {
    int uncounted = Math.max(2, count / 10) & ~1;
    double[] sums = new double[2];
    for (boolean outer : new boolean[] {true, false, false, true}) {
      boolean we = outer == oursFirst;
      turn(we, ours, what, uncounted);
      sums[we ? 0 : 1] += turn(we, ours, what, count);
    }
    return new double[] {sums[0] / 2, sums[1] / 2};
  }

  private double turn(boolean we, Batch ours, String what, int count)
      throws IOException, InterruptedException {
    return we ? setup.seconds(() -> ours.run(count)) : baseline.nanos(what, count) / 1e9;
  }

  /** Work that is done so often as it is told. */
  @FunctionalInterface
  interface Batch {
    void run(int count) throws IOException, InterruptedException;
  }
}
