package io.cephcsi.driver.campaign;

import io.cephcsi.driver.testing.DriverSeat;
import io.grpc.Channel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Sends calls as a CO does: again, to one driver or the other, until one is answered for good.
 *
 * @param seats the drivers
 * @param tally where each answer is counted
 */
record Calls(List<DriverSeat> seats, Tally tally) {
  /** What a CO repeats a call after. */
  private static final Set<Code> REPEATED =
      EnumSet.of(
          Code.ABORTED,
          Code.UNAVAILABLE,
          Code.DEADLINE_EXCEEDED,
          Code.FAILED_PRECONDITION,
          Code.RESOURCE_EXHAUSTED,
          Code.INTERNAL,
          Code.UNKNOWN);

  private static final Duration LONGEST = Duration.ofMinutes(4);

  /**
   * Sends a call until it succeeds.
   *
   * @throws IllegalStateException if it is refused, or not answered for four minutes
   */
  <T> T send(Random random, String method, Function<Channel, T> call) {
    long end = System.nanoTime() + LONGEST.toNanos();
    int seat = random.nextInt(seats.size());
    while (true) {
      long began = System.nanoTime();
      try {
        T answer = call.apply(seats.get(seat++ % seats.size()).channel());
        tally.answered(method, Code.OK, "", System.nanoTime() - began);
        return answer;
      } catch (StatusRuntimeException e) {
        Code code = e.getStatus().getCode();
        String text = String.valueOf(e.getStatus().getDescription());
        if (!isOfConnection(e)) {
          tally.answered(method, code, text, System.nanoTime() - began);
        }
        if (!REPEATED.contains(code) || System.nanoTime() > end) {
          tally.wrong(method + " failed: " + code + ": " + text);
          throw new IllegalStateException(method + ": " + code + ": " + text, e);
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50 + random.nextInt(250)));
      }
    }
  }

  /** The driver was killed, or does not serve yet: it did not answer. */
  private static boolean isOfConnection(StatusRuntimeException e) {
    String text = String.valueOf(e.getStatus().getDescription());
    if (e.getStatus().getCode() == Code.UNKNOWN) {
      return text.equals("channel closed"); // what gRPC says when it ends while a call is written
    }
    return e.getStatus().getCode() == Code.UNAVAILABLE
        && (text.contains("io exception")
            || text.contains("Network closed")
            || text.contains("Connection closed")
            || e.getCause() instanceof java.io.IOException);
  }
}
