package io.cephcsi.driver.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Reads the body of an answer up to a limit, and breaks a longer one off. */
final class BoundedBody implements BodySubscriber<byte[]> {
  private final int largest;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final CompletableFuture<byte[]> body = new CompletableFuture<>();
  private Flow.@Nullable Subscription subscription;

  private BoundedBody(int largest) {
    this.largest = largest;
  }

  /** A longer body fails with {@link TooLong}. */
  static BodyHandler<byte[]> upTo(int largest) {
    return response -> new BoundedBody(largest);
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return body;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    given.request(1);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    if (body.isDone() || subscription == null) {
      return;
    }
    for (ByteBuffer buffer : buffers) {
      if (bytes.size() + buffer.remaining() > largest) {
        subscription.cancel();
        body.completeExceptionally(new TooLong(largest));
        return;
      }
      byte[] part = new byte[buffer.remaining()];
      buffer.get(part);
      bytes.writeBytes(part);
    }
    subscription.request(1);
  }

  @Override
  public void onError(Throwable failure) {
    body.completeExceptionally(failure);
  }

  @Override
  public void onComplete() {
    body.complete(bytes.toByteArray());
  }

  /** A body that is longer than an answer may be. */
  static final class TooLong extends IOException {
    private static final long serialVersionUID = 1L;

    TooLong(int largest) {
      super("the answer has more than " + largest + " bytes");
    }
  }
}
