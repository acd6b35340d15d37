package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.volume.VolumeException;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StreamResponseTest {
  /** A client that takes as many messages as it has asked for. */
  private static final class Client extends ServerCallStreamObserver<String> {
    private final List<String> taken = new CopyOnWriteArrayList<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final AtomicInteger asked = new AtomicInteger();
    private volatile boolean cancelled;
    private volatile @Nullable Throwable failure;
    private volatile Runnable onReady = ended::getCount;
    private volatile Runnable onCancel = ended::getCount;

    void ask(int count) {
      asked.addAndGet(count);
      onReady.run();
    }

    void cancel() {
      cancelled = true;
      onCancel.run();
    }

    @Override
    public boolean isReady() {
      return taken.size() < asked.get();
    }

    @Override
    public boolean isCancelled() {
      return cancelled;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {
      onReady = handler;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
      onCancel = handler;
    }

    @Override
    public void onNext(String message) {
      taken.add(message);
    }

    @Override
    public void onError(Throwable thrown) {
      failure = thrown;
      ended.countDown();
    }

    @Override
    public void onCompleted() {
      ended.countDown();
    }

    @Override
    public void setCompression(String compression) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}
  }

  private final Client client = new Client();

  private CompletableFuture<Void> stream(int messages) {
    AtomicReference<CompletableFuture<Void>> work = new AtomicReference<>();
    StreamResponse.to(
        client,
        Family.CSI,
        answer -> {
          work.set(
              CompletableFuture.runAsync(
                  () -> {
                    for (int i = 0; i < messages; i++) {
                      answer.send(Integer.toString(i));
                    }
                  }));
          return work.get();
        });
    return work.get();
  }

  @Test
  void noMessageIsMadeBeforeTheClientTakesIt() throws Exception {
    CompletableFuture<Void> work = stream(3);
    assertThat(client.taken).isEmpty();
    client.ask(1);
    Awaitility.await().until(() -> client.taken.size() == 1);
    assertThat(work).isNotDone();
    client.ask(2);
    assertThat(client.ended.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(client.taken).containsExactly("0", "1", "2");
    assertThat(client.failure).isNull();
  }

  @Test
  void workWaitsForTheClientBeforeItMakesTheNextMessage() throws Exception {
    AtomicInteger made = new AtomicInteger();
    StreamResponse.to(
        client,
        Family.CSI,
        answer ->
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < 2; i++) {
                    answer.awaitClient();
                    answer.send(Integer.toString(made.getAndIncrement()));
                  }
                }));
    assertThat(made).hasValue(0);
    client.ask(1);
    Awaitility.await().until(() -> client.taken.size() == 1);
    assertThat(made).hasValue(1);
    client.ask(1);
    assertThat(client.ended.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(client.taken).containsExactly("0", "1");
  }

  @Test
  void theWorkEndsWhenTheClientGoesAway() {
    CompletableFuture<Void> work = stream(3);
    client.ask(1);
    client.cancel();
    assertThatThrownBy(() -> work.get(10, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class)
        .rootCause()
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("went away");
  }

  @Test
  void whatGoesWrongIsTheStatus() throws Exception {
    StreamResponse.to(
        client,
        Family.CSI,
        answer -> CompletableFuture.failedFuture(VolumeException.notFound("no such snapshot")));
    assertThat(client.ended.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(Status.fromThrowable(client.failure).getCode()).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void workAsksWhetherTheClientIsThereWithoutWaitingForIt() {
    CompletableFuture<Boolean> ended = new CompletableFuture<>();
    StreamResponse.to(
        client,
        Family.CSI,
        answer -> {
          answer.requireClient();
          client.cancel();
          assertThatThrownBy(answer::requireClient)
              .isInstanceOf(VolumeException.class)
              .hasMessageContaining("went away");
          ended.complete(true);
          return ended;
        });
    assertThat(ended).isCompleted();
  }
}
