package io.cephcsi.driver.reclaim.fs;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The memory of one inspection, out of what all inspections of a process share. What an image holds
 * is its tenant's, and so is what reading it takes: without a bound one image could end the
 * process.
 *
 * <ul>
 *   <li>Each inspection waits for a share, and holds nothing else meanwhile.
 *   <li>What takes more than its share waits for the turn of the large ones, which one inspection
 *       has at a time. Whoever has the turn waits for nobody: so there is no deadlock.
 *   <li>Tables that do not fit the large turn either are refused ({@link RefusalReason#TOO_LARGE}).
 *       Free ranges never are: the shortest are left out.
 *   <li>When the inspection has ended, share and turn are given back. The ranges stay until {@link
 *       #close}, for which there is memory of its own; nobody waits for that, and where there is
 *       too little the shortest ranges are left out.
 * </ul>
 *
 * <p>Used by one thread; the shared part by all.
 */
public final class InspectionMemory implements AutoCloseable {
  private static final Shared PROCESS = new Shared(Runtime.getRuntime().maxMemory());
  private static final long POLL_MILLIS = 50;

  private final Shared shared;
  private final BooleanSupplier stop;
  private boolean inShare;
  private boolean inTurn;
  private long tables;
  private long ranges;
  private int kept;

  private InspectionMemory(Shared shared, BooleanSupplier stop) {
    this.shared = shared;
    this.stop = stop;
  }

  /**
   * For one inspection after the other.
   *
   * @param stop asked while it waits; must not block
   */
  public static InspectionMemory of(BooleanSupplier stop) {
    return new InspectionMemory(PROCESS, stop);
  }

  static InspectionMemory of(Shared shared, BooleanSupplier stop) {
    return new InspectionMemory(shared, stop);
  }

  /** What all inspections of a process may take. */
  static final class Shared {
    /** What an inspection may take without the large turn, in bytes; its reads come on top. */
    static final long SHARE = 1 << 20;

    private static final long SHARE_AND_READS = 2 << 20;
    private static final int MOST_SHARES = 64;
    private static final int UNIT = 64 << 10;
    private static final long LARGEST_RANGES = 32L << 20;
    private static final long LEAST = 1 << 20;

    private final long largest;
    private final long forRanges;
    private final Semaphore shares;
    private final Semaphore turn = new Semaphore(1, true);
    private final Semaphore keep;

    /**
     * @param heap bytes that the process may have; half of them are for requests, keys and the rest
     */
    Shared(long heap) {
      largest = Math.max(LEAST, heap / 128 * 40);
      forRanges = Math.max(LEAST, Math.min(LARGEST_RANGES, heap / 32));
      shares =
          new Semaphore(
              (int) Math.max(1, Math.min(MOST_SHARES, Math.round(heap / 8.0 / SHARE_AND_READS))),
              true);
      keep = new Semaphore((int) Math.min(1 << 14, heap / 16 / UNIT));
    }

    /** What the free ranges of one inspection may take, in bytes. */
    long forRanges() {
      return forRanges;
    }

    /** What tables and ranges of one inspection may take, in bytes. */
    long largest() {
      return largest;
    }

    boolean isUnused(int sharesInAll) {
      return shares.availablePermits() == sharesInAll && turn.availablePermits() == 1;
    }

    int freeShares() {
      return shares.availablePermits();
    }
  }

  /** To be called before anything is taken; waits. */
  void begin() {
    if (!inShare) {
      await(shared.shares);
      inShare = true;
    }
  }

  /** To be called when everything was read. The ranges are cut to what may stay. */
  void end(RangePlans plans) {
    tables = 0;
    ranges = 0;
    giveBack();
    shared.keep.release(kept);
    kept = 0;
    long bytes = plans.encodedBytes();
    if (bytes <= Shared.UNIT) {
      return;
    }
    // Half of what is left, so that something is left for the next.
    int wanted = (int) ((bytes + Shared.UNIT - 1) / Shared.UNIT);
    int offered = Math.min(wanted, (shared.keep.availablePermits() + 1) / 2);
    if (offered > 0 && shared.keep.tryAcquire(offered)) {
      kept = offered;
    }
    plans.fit((long) (kept + 1) * Shared.UNIT);
  }

  /** To be called instead of {@link #end} when there are no ranges. */
  void end() {
    end(new RangePlans(Shared.UNIT));
  }

  /**
   * Takes memory for tables, before it is allocated. Waits for the large turn where that is needed.
   *
   * @throws Refusal if the process does not have as much for one inspection
   */
  void take(long bytes) {
    if (bytes < 0 || tables + bytes > shared.largest - shared.forRanges) {
      throw new Refusal(
          RefusalReason.TOO_LARGE,
          "its tables take more memory than the "
              + ((shared.largest - shared.forRanges) >> 20)
              + " MiB that this process has for them");
    }
    tables += bytes;
    enterTurn();
  }

  /** Gives back what was taken for tables. */
  void give(long bytes) {
    tables -= bytes;
  }

  /** What is taken for tables, to go back to by {@link #giveAllBut}. */
  long taken() {
    return tables;
  }

  /** Gives back what was taken for tables since then. */
  void giveAllBut(long before) {
    tables = before;
  }

  /** Notes that free ranges take more memory, before they do. Waits as {@link #take}. */
  void takeForRanges(long bytes) {
    ranges += bytes;
    enterTurn();
  }

  /** Bound of the free ranges, in bytes. */
  long forRanges() {
    return shared.forRanges;
  }

  private void enterTurn() {
    if (!inTurn && tables + ranges > Shared.SHARE) {
      begin();
      await(shared.turn);
      inTurn = true;
    }
  }

  private void await(Semaphore semaphore) {
    try {
      while (!semaphore.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
        if (stop.getAsBoolean()) {
          throw new InspectionStopped();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InspectionStopped();
    }
  }

  private void giveBack() {
    if (inTurn) {
      inTurn = false;
      shared.turn.release();
    }
    if (inShare) {
      inShare = false;
      shared.shares.release();
    }
  }

  /** Gives everything back; the ranges of the inspection are not used any more. */
  @Override
  public void close() {
    giveBack();
    shared.keep.release(kept);
    kept = 0;
  }
}
