package io.cephcsi.driver.grpc;

import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A stream of response messages. It blocks while the client does not read. One thread at a time
 * sends messages.
 */
public final class StreamResponse<T> {
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final ServerCallStreamObserver<T> call;
  private final Object changed = new Object();

  private StreamResponse(StreamObserver<T> observer) {
    this.call = (ServerCallStreamObserver<T>) observer;
    call.setOnReadyHandler(this::wakeUp);
    call.setOnCancelHandler(this::wakeUp);
  }

  private void wakeUp() {
    synchronized (changed) {
      changed.notifyAll();
    }
  }

  /**
   * Answers a call.
   *
   * @param work starts the work, which sends messages; the call ends with it, and what it throws
   *     becomes the status of the call
   */
  public static <T> void to(
      StreamObserver<T> observer,
      Family family,
      Function<StreamResponse<T>, CompletableFuture<?>> work) {
    StreamResponse<T> answer = new StreamResponse<>(observer);
    CompletableFuture<?> future;
    try {
      future = work.apply(answer);
    } catch (RuntimeException e) {
      observer.onError(StatusTable.statusOf(e, family));
      return;
    }
    @SuppressWarnings("unused") // the end is sent, failed or not
    var ended = future.whenComplete((done, failure) -> answer.end(failure, family));
  }

  private void end(Throwable failure, Family family) {
    if (failure != null) {
      call.onError(StatusTable.statusOf(failure, family));
    } else {
      call.onCompleted();
    }
  }

  /**
   * Sends a message; blocks while the client has not taken those before.
   *
   * @throws VolumeException ABORTED when the client went away, DEADLINE_EXCEEDED when it takes
   *     nothing for five minutes: there is nothing left to do then
   */
  public void send(T message) {
    awaitClient();
    call.onNext(message);
  }

  /**
   * Waits until the client has taken the messages before. Who makes a large message after that
   * keeps no such message for as long as the client takes nothing.
   *
   * @throws VolumeException as {@link #send}
   */
  public void awaitClient() {
    long end = System.nanoTime() + PATIENCE.toNanos();
    synchronized (changed) {
      while (!call.isReady() && !call.isCancelled()) {
        long millis = Duration.ofNanos(end - System.nanoTime()).toMillis();
        if (millis <= 0) {
          throw new VolumeException(
              Reason.DEADLINE_EXCEEDED, "the client has not read a message for " + PATIENCE);
        }
        try {
          changed.wait(millis);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new VolumeException(Reason.UNAVAILABLE, "the driver is stopping", e);
        }
      }
    }
    requireClient();
  }

  /**
   * Requires that somebody waits for messages; does not block.
   *
   * @throws VolumeException ABORTED when the client went away
   */
  public void requireClient() {
    if (call.isCancelled()) {
      throw new VolumeException(Reason.ABORTED, "the client went away");
    }
  }
}
