package io.cephcsi.driver.grpc;

import io.cephcsi.driver.grpc.StatusTable.Family;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The answer to one unary call: sent when the work is done, on whatever thread that is, and dropped
 * when the caller has gone.
 */
public final class UnaryResponse<T> {
  private final StreamObserver<T> observer;
  private final Family family;
  private final Context context = Context.current();

  private UnaryResponse(StreamObserver<T> observer, Family family) {
    this.observer = observer;
    this.family = family;
    if (observer instanceof ServerCallStreamObserver<T> call) {
      call.setOnCancelHandler(() -> {}); // the work goes on; only its answer has no taker
    }
  }

  /**
   * Answers a call.
   *
   * @param work starts the work; what it throws becomes the status of the call
   */
  public static <T> void to(
      StreamObserver<T> observer,
      Family family,
      Function<UnaryResponse<T>, CompletableFuture<T>> work) {
    UnaryResponse<T> answer = new UnaryResponse<>(observer, family);
    CompletableFuture<T> future;
    try {
      future = work.apply(answer);
    } catch (RuntimeException e) {
      observer.onError(StatusTable.statusOf(e, family));
      return;
    }
    @SuppressWarnings("unused") // send handles the failure, too
    var sent = future.whenComplete(answer::send);
  }

  /** Answers a call that needs no cluster. */
  public static <T> void now(StreamObserver<T> observer, T response) {
    observer.onNext(response);
    observer.onCompleted();
  }

  /**
   * Whether nobody waits for the answer any more: the call was cancelled or its deadline passed.
   */
  public boolean callerGone() {
    return context.isCancelled();
  }

  private void send(T response, Throwable failure) {
    if (failure != null) {
      observer.onError(StatusTable.statusOf(failure, family));
    } else {
      observer.onNext(response);
      observer.onCompleted();
    }
  }
}
