package io.cephcsi.driver.grpc;

import io.cephcsi.driver.grpc.StatusTable.Family;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.netty.util.concurrent.EventExecutorGroup;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The outermost interceptor of each call. A request must arrive in time and fit into the memory for
 * requests. A failure, such as an OutOfMemoryError, ends only its own call.
 */
final class CallGuard implements ServerInterceptor {
  private static final Logger LOG = LoggerFactory.getLogger(CallGuard.class);
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final EventExecutorGroup timer;
  private final Refusals refusals;

  /**
   * @param timer runs what is due
   * @param refusals counts the calls that no other interceptor saw the end of
   */
  CallGuard(EventExecutorGroup timer, Refusals refusals) {
    this.timer = timer;
    this.refusals = refusals;
  }

  /** Counts calls that are ended before a service has seen them. */
  interface Refusals {
    /** Counts one that took some time. */
    void count(String method, String code, Duration took);
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    GuardedCall<Q, R> guarded = new GuardedCall<>(call, refusals);
    RequestBytes bytes = RequestBytes.current();
    if (bytes != null) {
      bytes.onRefusal(
          () -> guarded.refuse(Status.RESOURCE_EXHAUSTED, "too many requests at once; try again"));
    }
    Future<?> patience =
        timer.schedule(
            () -> guarded.refuse(Status.DEADLINE_EXCEEDED, "no request within " + PATIENCE),
            PATIENCE.toMillis(),
            TimeUnit.MILLISECONDS);
    try {
      return new GuardedListener<>(guarded, next.startCall(guarded, headers), patience);
    } catch (RuntimeException | Error e) {
      patience.cancel(false);
      guarded.end(StatusTable.statusOf(e, Family.CSI).getStatus());
      return new ServerCall.Listener<>() {};
    }
  }

  /** A call that is closed once, with a description that fits into a header. */
  private static final class GuardedCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final AtomicBoolean closed = new AtomicBoolean();

    private final Refusals refusals;
    private final long begunNanos = System.nanoTime();

    GuardedCall(ServerCall<Q, R> call, Refusals refusals) {
      super(call);
      this.refusals = refusals;
    }

    boolean isClosed() {
      return closed.get();
    }

    /** Ends the call before the service has seen it. */
    void refuse(Status status, String why) {
      if (!closed.get()) {
        LOG.warn("{} {}: {}", getMethodDescriptor().getFullMethodName(), status.getCode(), why);
        end(status.withDescription(why));
      }
    }

    /** Ends the call, unless it has ended, where no service does. */
    void end(Status status) {
      if (closed.compareAndSet(false, true)) {
        refusals.count(
            getMethodDescriptor().getFullMethodName(),
            status.getCode().name(),
            Duration.ofNanos(System.nanoTime() - begunNanos));
        super.close(StatusTable.shown(status), new Metadata());
      }
    }

    @Override
    public void close(Status status, Metadata trailers) {
      if (closed.compareAndSet(false, true)) {
        super.close(StatusTable.shown(status), trailers);
      }
    }
  }

  private static final class GuardedListener<Q, R> extends ServerCall.Listener<Q> {
    private final GuardedCall<Q, R> call;
    private final ServerCall.Listener<Q> next;
    private final Future<?> patience;
    private final boolean single;
    private int requests;

    GuardedListener(GuardedCall<Q, R> call, ServerCall.Listener<Q> next, Future<?> patience) {
      this.call = call;
      this.next = next;
      this.patience = patience;
      this.single = call.getMethodDescriptor().getType().clientSendsOneMessage();
    }

    @Override
    public void onMessage(Q request) {
      patience.cancel(false);
      if (call.isClosed()) {
        return;
      }
      if (single && ++requests > 1) {
        call.refuse(Status.INVALID_ARGUMENT, "the call has more than one request");
        return;
      }
      guarded(
          () -> {
            try {
              next.onMessage(request);
            } catch (StatusRuntimeException e) {
              // The services do their work later: what does not come this far cannot be read.
              if (e.getStatus().getCode() != Status.Code.INTERNAL) {
                throw e;
              }
              call.refuse(Status.INVALID_ARGUMENT, "the request is no message of this method");
            }
          });
    }

    @Override
    public void onHalfClose() {
      patience.cancel(false);
      if (call.isClosed()) {
        return;
      }
      if (single && requests == 0) {
        call.refuse(Status.INVALID_ARGUMENT, "the call has no request");
        return;
      }
      guarded(next::onHalfClose);
    }

    @Override
    public void onCancel() {
      patience.cancel(false);
      guarded(next::onCancel);
    }

    @Override
    public void onComplete() {
      patience.cancel(false);
      guarded(next::onComplete);
    }

    @Override
    public void onReady() {
      guarded(next::onReady);
    }

    private void guarded(Runnable work) {
      try {
        work.run();
      } catch (RuntimeException | Error e) {
        call.end(StatusTable.statusOf(e, Family.CSI).getStatus());
      }
    }
  }
}
