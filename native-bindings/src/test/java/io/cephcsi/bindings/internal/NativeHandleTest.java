package io.cephcsi.bindings.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cephcsi.bindings.error.CephException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

@Timeout(60)
class NativeHandleTest {
  private static final long POINTER = 0x1234;

  /** The names of destroyed handles, in order; destroy may run before a handle's fields are set. */
  private static final Queue<String> DESTROYED = new ConcurrentLinkedQueue<>();

  private final ExecutorService threads = Executors.newCachedThreadPool();

  private static class Handle extends NativeHandle {
    Handle(String name, NativeHandle parent, boolean longLived) {
      super(name, parent, POINTER, longLived);
    }

    static Handle root(String name) {
      return new Handle(name, null, false);
    }

    @Override
    protected void destroy(long pointer) {
      assertThat(pointer).isEqualTo(POINTER);
      DESTROYED.add(toString());
    }

    long parent() {
      return parentPointer();
    }
  }

  @BeforeEach
  void forget() {
    DESTROYED.clear();
  }

  @AfterEach
  void end() {
    threads.shutdownNow();
  }

  /** Begins closing in another thread, and waits until the handle refuses new calls. */
  private Thread closing(NativeHandle handle) {
    Thread closer = new Thread(handle::close, "closer");
    closer.start();
    await().until(handle::isClosed);
    return closer;
  }

  private static void awaitBlocked(Thread thread) {
    await().until(() -> thread.getState() == Thread.State.WAITING);
  }

  @Test
  void callsShareTheHandleAndCloseWaitsForTheLast() throws InterruptedException {
    Handle handle = Handle.root("shared");
    assertThat(handle.enter()).isEqualTo(POINTER);
    assertThat(handle.enter()).isEqualTo(POINTER);

    Thread closer = closing(handle);
    awaitBlocked(closer);
    handle.exit();
    awaitBlocked(closer);
    assertThat(DESTROYED).isEmpty();
    handle.exit();
    closer.join();
    assertThat(DESTROYED).containsExactly("shared");
  }

  @Test
  void aCloserMayDestroyTheHandleLaterAndTheParentWaitsForIt() throws InterruptedException {
    List<Runnable> left = new CopyOnWriteArrayList<>();
    Handle parent = Handle.root("parent");
    Handle child =
        new Handle("child", parent, false) {
          @Override
          protected Executor closer() {
            return left::add;
          }
        };
    child.enter(); // a call that does not return
    child.close();
    assertThat(child.isClosed()).isTrue();
    assertThat(left).hasSize(1);

    Thread closer = new Thread(parent::close, "closer");
    closer.start();
    awaitBlocked(closer);
    assertThat(DESTROYED).isEmpty();
    child.exit();
    left.get(0).run();
    closer.join();
    assertThat(DESTROYED).containsExactly("child", "parent");
  }

  @Test
  void whatIsClosedAsideWaitsForItsCallsAndTheParentForIt() throws InterruptedException {
    Handle parent = Handle.root("parent");
    Handle child = new Handle("child", parent, false);
    child.enter(); // a call that does not return
    child.closeAside();

    Thread closer = new Thread(parent::close, "closer");
    closer.start();
    awaitBlocked(closer);
    assertThat(DESTROYED).isEmpty();
    child.exit();
    closer.join();
    assertThat(DESTROYED).containsExactly("child", "parent");
    assertThatThrownBy(Handle.root("root")::closeAside).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aCallHoldsTheHandleAndGivesItBackAlsoWhenItFails() {
    Handle handle = Handle.root("used");
    String text =
        handle.use(
            (pointer, arena) -> {
              assertThat(pointer).isEqualTo(POINTER);
              return NativeMemory.cString(arena.cString("text"));
            });
    assertThat(text).isEqualTo("text");
    assertThat(handle.call("call", "object", (pointer, arena) -> 3)).isEqualTo(3);
    assertThatThrownBy(() -> handle.call("call", "object", (pointer, arena) -> -2))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessage("call object: ENOENT");
    assertThatThrownBy(() -> handle.use((pointer, arena) -> List.of().get(0)))
        .isInstanceOf(IndexOutOfBoundsException.class);
    handle.close(); // would wait for a call that still holds it
    assertThatThrownBy(() -> handle.use((pointer, arena) -> pointer))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void callsAreRefusedWhileCloseWaitsAndAfterwards() throws InterruptedException {
    Handle handle = Handle.root("refusing");
    handle.enter();
    Thread closer = closing(handle);
    assertThatThrownBy(handle::enter)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("refusing is closed");
    assertThat(DESTROYED).isEmpty();
    handle.exit();
    closer.join();
    assertThatThrownBy(handle::enter).isInstanceOf(IllegalStateException.class);
    assertThat(handle.isClosed()).isTrue();
    assertThat(DESTROYED).containsExactly("refusing");
  }

  @Test
  void closingAgainDoesNothing() {
    Handle handle = Handle.root("again");
    handle.close();
    handle.close();
    assertThat(DESTROYED).containsExactly("again");
  }

  @Test
  void eightThreadsThatCloseDestroyOnce() throws Exception {
    for (int round = 0; round < 500; round++) {
      Handle handle = Handle.root("round " + round);
      together(8, handle::close);
    }
    assertThat(DESTROYED).hasSize(500).doesNotHaveDuplicates();
  }

  @Test
  void aParentWithOpenChildrenStaysOpenAndUsable() {
    Handle parent = Handle.root("parent");
    Handle child = new Handle("child", parent, false);
    Handle other = new Handle("other", parent, false);
    assertThatThrownBy(parent::close)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("parent cannot be closed: 2 objects");
    assertThat(parent.isClosed()).isFalse();
    assertThat(parent.enter()).isEqualTo(POINTER);
    parent.exit();

    child.close();
    child.close();
    assertThatThrownBy(parent::close).hasMessageContaining("1 objects");
    other.close();
    parent.close();
    assertThat(DESTROYED).containsExactly("child", "other", "parent");
  }

  @Test
  void theParentsPointerIsKnownToItsChildrenOnly() {
    Handle parent = Handle.root("parent");
    try (Handle child = new Handle("child", parent, false)) {
      assertThat(child.parent()).isEqualTo(POINTER);
    }
    assertThatThrownBy(parent::parent).isInstanceOf(IllegalStateException.class);
    parent.close();
  }

  @Test
  void aChildOfAClosedParentIsDestroyedAtOnce() {
    Handle parent = Handle.root("parent");
    parent.close();
    assertThatThrownBy(() -> new Handle("child", parent, true))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("parent is closed");
    assertThat(DESTROYED).containsExactly("parent", "child");
  }

  @Test
  void aChildMadeWhileItsParentClosesIsDestroyedBeforeTheParent() throws Exception {
    Handle parent = Handle.root("parent");
    parent.enter();
    Thread closer = closing(parent);
    assertThatThrownBy(() -> new Handle("child", parent, false))
        .isInstanceOf(IllegalStateException.class);
    assertThat(DESTROYED).containsExactly("child");
    parent.exit();
    closer.join();
    assertThat(DESTROYED).containsExactly("child", "parent");
  }

  @Test
  void childrenAreNeverDestroyedAfterTheirParentHoweverTheyRace() throws Exception {
    for (int round = 0; round < 2_000; round++) {
      DESTROYED.clear();
      Handle parent = Handle.root("parent");
      AtomicReference<Handle> made = new AtomicReference<>();
      AtomicBoolean refused = new AtomicBoolean();
      Callable<Void> make =
          () -> {
            try {
              parent.enter();
              try {
                made.set(new Handle("child", parent, false));
              } finally {
                parent.exit();
              }
            } catch (IllegalStateException closed) {
              refused.set(true);
            }
            return null;
          };
      AtomicBoolean closed = new AtomicBoolean();
      Callable<Void> close =
          () -> {
            try {
              parent.close();
              closed.set(true);
            } catch (IllegalStateException openChild) {
              closed.set(false);
            }
            return null;
          };
      together(List.of(make, close));

      if (made.get() == null) {
        assertThat(refused).isTrue();
        assertThat(closed).isTrue();
      } else {
        assertThat(closed).isFalse();
        made.get().close();
        parent.close();
      }
      List<String> order = new ArrayList<>(DESTROYED);
      assertThat(order).doesNotHaveDuplicates().endsWith("parent");
    }
  }

  @Test
  void noCallRunsWhenTheObjectIsDestroyed() throws Exception {
    for (int round = 0; round < 300; round++) {
      AtomicInteger running = new AtomicInteger();
      AtomicInteger runningAtDestruction = new AtomicInteger(-1);
      NativeHandle handle =
          new NativeHandle("stressed", null, POINTER, false) {
            @Override
            protected void destroy(long pointer) {
              runningAtDestruction.set(running.get());
            }
          };
      Callable<Void> calls =
          () -> {
            for (int i = 0; i < 500; i++) {
              try {
                handle.enter();
              } catch (IllegalStateException closed) {
                return null;
              }
              running.incrementAndGet();
              running.decrementAndGet();
              handle.exit();
            }
            return null;
          };
      Callable<Void> close =
          () -> {
            handle.close();
            return null;
          };
      together(List.of(calls, calls, calls, close));
      assertThat(runningAtDestruction).hasValue(0);
    }
  }

  @Test
  void anInterruptDoesNotStopCloseAndIsKept() throws InterruptedException {
    Handle handle = Handle.root("interrupted");
    handle.enter();
    AtomicBoolean interruptedAfterwards = new AtomicBoolean();
    Thread closer =
        new Thread(
            () -> {
              handle.close();
              interruptedAfterwards.set(Thread.currentThread().isInterrupted());
            });
    closer.start();
    awaitBlocked(closer);
    closer.interrupt();
    await().until(() -> !closer.isInterrupted());
    awaitBlocked(closer);
    assertThat(DESTROYED).isEmpty();
    handle.exit();
    closer.join();
    assertThat(DESTROYED).containsExactly("interrupted");
    assertThat(interruptedAfterwards).isTrue();
  }

  @Test
  void aFailureOfDestroyReachesTheCallerAndFreesTheParent() {
    Handle parent = Handle.root("parent");
    AtomicInteger attempts = new AtomicInteger();
    NativeHandle child =
        new NativeHandle("child", parent, POINTER, true) {
          @Override
          protected void destroy(long pointer) {
            attempts.incrementAndGet();
            throw new IllegalArgumentException("unwatch failed");
          }
        };
    assertThatThrownBy(child::close).hasMessage("unwatch failed");
    assertThatCode(child::close).doesNotThrowAnyException();
    assertThat(attempts).hasValue(1);
    parent.close();
    assertThat(DESTROYED).containsExactly("parent");
  }

  @Test
  void aHandleThatIsLostIsWarnedOfOnceAndAClosedOneNever() {
    Logger logger = (Logger) LoggerFactory.getLogger(NativeHandle.class);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.list = new CopyOnWriteArrayList<>();
    log.start();
    logger.addAppender(log);
    logger.setAdditive(false);
    try {
      makeAndDrop();
      await()
          .pollInSameThread()
          .until(
              () -> {
                System.gc();
                return log.list.size() >= 2;
              });
      // Lost after all the others, so that theirs would have been seen by now.
      make("sentinel", null, true);
      await()
          .pollInSameThread()
          .until(
              () -> {
                System.gc();
                return log.list.stream()
                    .anyMatch(e -> e.getFormattedMessage().startsWith("sentinel"));
              });
      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .containsExactlyInAnyOrder(
              "lost was never closed: its native object is leaked",
              "lost child was never closed: its native object is leaked",
              "sentinel was never closed: its native object is leaked");
      assertThat(DESTROYED).containsExactlyInAnyOrder("closed", "closed child");
    } finally {
      logger.detachAppender(log);
      logger.setAdditive(true);
    }
  }

  private static void make(String name, NativeHandle parent, boolean longLived) {
    assertThat(new Handle(name, parent, longLived).isClosed()).isFalse();
  }

  private static void makeAndDrop() {
    Handle lost = new Handle("lost", null, true);
    make("lost child", lost, true);
    make("short-lived", null, false);
    Handle closed = new Handle("closed", null, true);
    new Handle("closed child", closed, true).close();
    closed.close();
  }

  private void together(int count, Runnable task) throws Exception {
    List<Callable<Void>> tasks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      tasks.add(
          () -> {
            task.run();
            return null;
          });
    }
    together(tasks);
  }

  /** Runs tasks at once, and gives the first failure. */
  private void together(List<Callable<Void>> tasks) throws Exception {
    CyclicBarrier start = new CyclicBarrier(tasks.size());
    CountDownLatch ended = new CountDownLatch(tasks.size());
    List<Future<Void>> results = new ArrayList<>();
    for (Callable<Void> task : tasks) {
      results.add(
          threads.submit(
              () -> {
                start.await();
                try {
                  return task.call();
                } finally {
                  ended.countDown();
                }
              }));
    }
    ended.await();
    for (Future<Void> result : results) {
      result.get();
    }
  }

  /** A handle whose object lives on for a while. */
  private static final class LingeringHandle extends NativeHandle {
    private final long nanos;

    LingeringHandle(String name, NativeHandle parent, long nanos) {
      super(name, parent, POINTER, false);
      this.nanos = nanos;
    }

    @Override
    protected long nanosToLinger() {
      return nanos;
    }

    @Override
    protected void destroy(long pointer) {
      DESTROYED.add(toString());
      if (toString().startsWith("failing")) {
        throw new IllegalArgumentException("as it should");
      }
    }
  }

  @Test
  void whatLingersIsClosedAtOnceAndDestroyedLater() {
    Handle parent = Handle.root("parent");
    NativeHandle child = new LingeringHandle("child", parent, 300_000_000);
    child.close();
    assertThat(child.isClosed()).isTrue();
    assertThatThrownBy(child::enter).isInstanceOf(IllegalStateException.class);
    assertThat(DESTROYED).isEmpty();
    await().untilAsserted(() -> assertThat(DESTROYED).containsExactly("child"));
    parent.close();
    assertThat(DESTROYED).containsExactly("child", "parent");
  }

  @Test
  void aParentWaitsForWhatLingers() {
    Handle parent = Handle.root("parent");
    new LingeringHandle("child", parent, 300_000_000).close();
    new LingeringHandle("failing child", parent, 300_000_000).close();
    parent.close();
    assertThat(DESTROYED).containsExactlyInAnyOrder("child", "failing child", "parent");
    assertThat(DESTROYED).last().isEqualTo("parent");
  }

  @Test
  void aParentDoesNotWaitForWhatIsOpen() {
    Handle parent = Handle.root("parent");
    NativeHandle open = new LingeringHandle("open", parent, 0);
    new LingeringHandle("child", parent, 3_600_000_000_000L).close();
    assertThatThrownBy(parent::close)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("2 objects");
    assertThat(parent.isClosed()).isFalse();
    open.close();
    assertThat(DESTROYED).containsExactly("open");
  }
}
