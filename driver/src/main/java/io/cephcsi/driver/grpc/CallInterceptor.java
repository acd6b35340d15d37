package io.cephcsi.driver.grpc;

import com.google.protobuf.Message;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.profile.Rpc;
import io.cephcsi.driver.volume.VolumeException;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs and counts every call, and refuses requests that are over the limits or hold control
 * characters.
 */
final class CallInterceptor implements ServerInterceptor {
  private static final Logger LOG = LoggerFactory.getLogger("io.cephcsi.driver.requests");

  /** About what an element of a list or map takes besides its text. */
  private static final int ELEMENT_BYTES = 256;

  private final String driverName;
  private final DriverMetrics metrics;
  private final AtomicLong ids = new AtomicLong();

  CallInterceptor(String driverName, DriverMetrics metrics) {
    this.driverName = driverName;
    this.metrics = metrics;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Watched<Q, R> watched = new Watched<>(call);
    return new SimpleForwardingServerCallListener<>(next.startCall(watched, headers)) {
      private boolean refused;

      @Override
      public void onMessage(Q request) {
        if (request instanceof Message message) {
          Optional<Status> refusal = refusal(message);
          if (refusal.isPresent()) {
            refused = true;
            watched.close(refusal.get(), new Metadata());
            return;
          }
          watched.secrets = Secrets.values(message);
          if (LOG.isDebugEnabled()) {
            LOG.debug("[{}] {} {}", watched.id, watched.method, Secrets.show(message));
          }
        }
        super.onMessage(request);
      }

      @Override
      public void onHalfClose() {
        if (!refused) {
          super.onHalfClose();
        }
      }

      @Override
      public void onCancel() {
        watched.log(Status.CANCELLED.withDescription("the caller went away"));
        super.onCancel();
      }
    };
  }

  private static Optional<Status> refusal(Message request) {
    try {
      int elements = RequestLimits.check(request);
      RequestText.check(request);
      RequestBytes bytes = RequestBytes.current();
      return bytes == null || bytes.take((long) elements * ELEMENT_BYTES)
          ? Optional.empty()
          : Optional.of(
              Status.RESOURCE_EXHAUSTED.withDescription("too many requests at once; try again"));
    } catch (VolumeException e) {
      return Optional.of(Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
    }
  }

  /** A call that is logged when it ends. */
  private final class Watched<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final long id = ids.incrementAndGet();
    private final long startNanos = System.nanoTime();
    private final String method;
    private final @Nullable Rpc event = Rpc.begun();
    private volatile Set<String> secrets = Set.of();
    private boolean logged;

    Watched(ServerCall<Q, R> call) {
      super(call);
      method = call.getMethodDescriptor().getFullMethodName();
    }

    @Override
    public void close(Status status, Metadata trailers) {
      String description = status.getDescription();
      Status shown =
          description == null
              ? status
              : StatusTable.shown(status.withDescription(KeyMaterial.hide(description, secrets)));
      log(shown);
      super.close(shown, trailers);
    }

    private synchronized void log(Status status) {
      if (logged) {
        return;
      }
      logged = true;
      Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
      metrics.call(driverName, method, status.getCode().name(), took);
      if (event != null) {
        event.ended(driverName, id, method, status.getCode().name());
      }
      String description = status.getDescription() == null ? "" : status.getDescription();
      if (status.isOk()) {
        LOG.info("[{}] {} OK in {} ms", id, method, took.toMillis());
      } else {
        LOG.warn(
            "[{}] {} {} in {} ms: {}", id, method, status.getCode(), took.toMillis(), description);
      }
    }
  }
}
