package io.cephcsi.driver.profile;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;

/** Recordings of the flight recorder at the end of the process. */
public final class Recordings {
  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(20);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private Recordings() {}

  /**
   * Waits until all recordings that have a file are in it: the flight recorder writes them when the
   * JVM ends, beside others that end it. Blocks, for 20 s at most; returns at once if nothing is
   * recorded.
   */
  public static void awaitWritten() {
    if (!FlightRecorder.isInitialized()) {
      return;
    }
    long begun = System.nanoTime();
    for (Recording recording : FlightRecorder.getFlightRecorder().getRecordings()) {
      if (recording.getDestination() == null) {
        continue;
      }
      try {
        recording.stop(); // writes it, and closes it
      } catch (IllegalStateException e) {
        // The flight recorder is at it, or has not begun to record.
      }
      while (recording.getState() == RecordingState.STOPPED
          && System.nanoTime() - begun < LONGEST_NANOS) {
        LockSupport.parkNanos(LOOK_NANOS);
      }
    }
  }
}
