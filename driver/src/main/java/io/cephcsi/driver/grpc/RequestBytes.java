package io.cephcsi.driver.grpc;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/**
 * The memory of one call's request, counted from its first byte until the call has ended. It counts
 * what has arrived, as a client may send a part of a request and no more.
 */
final class RequestBytes extends ServerStreamTracer {
  private static final Context.Key<RequestBytes> KEY = Context.key("request bytes");

  private final MemoryBudget budget;
  private long held;
  private boolean refused;
  private boolean ended;
  private @Nullable Runnable refusal;

  private RequestBytes(MemoryBudget budget) {
    this.budget = budget;
  }

  static ServerStreamTracer.Factory factory(MemoryBudget budget) {
    return new ServerStreamTracer.Factory() {
      @Override
      public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
        return new RequestBytes(budget);
      }
    };
  }

  /** Those of the call that this thread works for; none outside of a call. */
  static @Nullable RequestBytes current() {
    return KEY.get();
  }

  @Override
  public Context filterContext(Context context) {
    return context.withValue(KEY, this);
  }

  @Override
  public void inboundWireSize(long bytes) {
    if (!take(bytes)) {
      refuse();
    }
  }

  /** Takes memory until the call ends; false when there is no more. */
  synchronized boolean take(long bytes) {
    if (ended || !budget.take(bytes, held)) {
      return ended;
    }
    held += bytes;
    return true;
  }

  private void refuse() {
    Runnable end;
    synchronized (this) {
      refused = true;
      end = refusal;
    }
    if (end != null) {
      end.run();
    }
  }

  /** Says how the call is ended when there is no memory for its request. */
  void onRefusal(Runnable end) {
    boolean now;
    synchronized (this) {
      refusal = end;
      now = refused;
    }
    if (now) {
      end.run();
    }
  }

  @Override
  public synchronized void streamClosed(Status status) {
    ended = true;
    budget.give(held);
    held = 0;
  }
}
