package io.cephcsi.bindings.internal;

import io.cephcsi.bindings.error.ReturnCode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owner of one native object: calls share it, close excludes them, and the object is destroyed
 * exactly once.
 *
 * <p>A call takes the pointer by {@link #enter()} and gives it back by {@link #exit()}; as many as
 * like run at once. {@link #close()} refuses new calls, waits for the running ones, then destroys.
 * A second close does nothing; a call after close throws {@link IllegalStateException}. A handle
 * that others were made from (an image from a pool) cannot be closed before them: that is an {@link
 * IllegalStateException} too, and the handle stays open.
 *
 * <p>A call that the cluster does not answer holds the handle until it returns. Never close a
 * handle from a callback of one of its own calls: it would wait for itself.
 */
public abstract class NativeHandle implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NativeHandle.class);
  private static final Cleaner LEAKS = Cleaner.create();

  // Bit 63: closed. Bits 32..62: open children. Bits 0..31: running calls.
  private static final long CLOSED = Long.MIN_VALUE;
  private static final long CHILD = 1L << 32;
  private static final long CALLS = CHILD - 1;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(NativeHandle.class, "state", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Object name;
  private final @Nullable NativeHandle parent;
  private final @Nullable LeakWarning leakWarning;
  private final long pointer;
  private final Object drained = new Object();

  @SuppressWarnings("unused") // through STATE
  private volatile long state;

  /** How many of the open children are closed for their users, and destroyed in a moment. */
  private final AtomicInteger lingering = new AtomicInteger();

  /**
   * Takes ownership of a native object. A handle made from another is constructed inside a call of
   * the parent ({@link #enter()} to {@link #exit()}), so that the parent's object still lives when
   * a concurrent close of the parent makes this constructor destroy the new one.
   *
   * @param name for messages, such as {@code image rbd/csi-vol-1}; or what gives it by {@code
   *     toString()}, for short-lived objects
   * @param parent the handle that this one was made from and that must outlive it, or null
   * @param pointer the native object, not 0
   * @param longLived whether a warning is logged when the handle is collected unclosed; false for
   *     short-lived objects, of which there are many
   */
  @SuppressWarnings("this-escape")
  protected NativeHandle(
      Object name, @Nullable NativeHandle parent, long pointer, boolean longLived) {
    this.name = name;
    this.parent = parent;
    this.pointer = pointer;
    this.leakWarning = longLived ? new LeakWarning(name.toString()) : null;
    if (parent != null) {
      try {
        parent.addChild();
      } catch (IllegalStateException closedMeanwhile) {
        destroy(pointer);
        throw closedMeanwhile;
      }
    }
    if (leakWarning != null) {
      LEAKS.register(this, leakWarning);
    }
  }

  /**
   * Destroys the native object; called once, when no call runs and no child is open. It may use the
   * pointer and {@link #toString()} only: when the parent was closed during construction, it runs
   * before the subclass's fields are set.
   */
  protected abstract void destroy(long pointer);

  /**
   * How long the native object is to live on after {@link #close()}, which does not wait for it: in
   * nanoseconds, 0 for not at all. Called once, before {@link #destroy}, which runs on another
   * thread then; what it throws is logged. The handle needs a parent, whose close waits.
   */
  protected long nanosToLinger() {
    return 0;
  }

  /**
   * What runs the wait for the running calls, and {@link #destroy}, when they may take without end;
   * null where they do not. It may return before they have ended on another thread; the close of
   * the parent, which the handle needs, waits for that. Called once, by {@link #close()}.
   */
  protected @Nullable Executor closer() {
    return null;
  }

  /**
   * Begins a call.
   *
   * @return the native pointer, valid until {@link #exit()}
   * @throws IllegalStateException after {@link #close()}
   */
  public final long enter() {
    long before = (long) STATE.getAndAdd(this, 1L);
    if (before < 0) {
      exit();
      throw new IllegalStateException(name + " is closed");
    }
    return pointer;
  }

  /**
   * The native pointer for a call that is not counted: a close by another thread would not wait for
   * it. For objects that one thread builds before anybody else knows them.
   *
   * @throws IllegalStateException after {@link #close()}
   */
  protected final long ownPointer() {
    if (isClosed()) {
      throw new IllegalStateException(name + " is closed");
    }
    return pointer;
  }

  /**
   * Runs native calls while the handle is held open, with memory for their arguments. Hot paths use
   * {@link #enter()} and {@link #exit()} themselves, because a lambda allocates.
   *
   * @return what {@code use} returns
   * @throws IllegalStateException after {@link #close()}
   */
  public final <T> T use(Use<T> use) {
    long held = enter();
    try (NativeArena arena = NativeArena.open()) {
      return use.on(held, arena);
    } finally {
      exit();
    }
  }

  /**
   * As {@link #use}, for a single native call.
   *
   * @param operation the C function, for errors
   * @param object what it is about, for errors
   * @return the return code, not negative
   * @throws io.cephcsi.bindings.error.CephException if the return code is negative
   */
  public final int call(String operation, String object, Call call) {
    long held = enter();
    try (NativeArena arena = NativeArena.open()) {
      return ReturnCode.check(call.on(held, arena), operation, object);
    } finally {
      exit();
    }
  }

  /** Native calls on a handle, with memory for their arguments. */
  public interface Use<T> {
    T on(long pointer, NativeArena arena);
  }

  /** A native call on a handle, with memory for its arguments; gives the return code. */
  public interface Call {
    int on(long pointer, NativeArena arena);
  }

  /** Ends a call that {@link #enter()} began. */
  public final void exit() {
    long after = (long) STATE.getAndAdd(this, -1L) - 1;
    if (after < 0 && (after & CALLS) == 0) {
      synchronized (drained) {
        drained.notifyAll();
      }
    }
  }

  /**
   * The native object of the parent, for use in {@link #destroy} only: it outlives this handle, and
   * {@link #enter()} of a parent that is being closed would refuse.
   */
  protected final long parentPointer() {
    if (parent == null) {
      throw new IllegalStateException(name + " was not made from another handle");
    }
    return parent.pointer;
  }

  /** Whether {@link #close()} was called. */
  public final boolean isClosed() {
    return (long) STATE.getVolatile(this) < 0;
  }

  /** The name given at construction. */
  @Override
  public final String toString() {
    return name.toString();
  }

  /**
   * Closes the handle: waits for running calls, then destroys the native object. Waits for objects
   * made from this one that are closed and not destroyed yet.
   *
   * @throws IllegalStateException while objects made from this one are open
   */
  @Override
  public final void close() {
    long now;
    do {
      now = (long) STATE.getVolatile(this);
      if (now < 0) {
        return;
      }
      if (now >= CHILD) {
        awaitLingering();
        now = (long) STATE.getVolatile(this);
      }
      if (now >= CHILD) {
        throw new IllegalStateException(
            name + " cannot be closed: " + (now >> 32) + " objects made from it are open");
      }
    } while (!STATE.compareAndSet(this, now, now | CLOSED));
    Executor closer = closer();
    if (closer == null || parent == null) {
      drainAndDestroy();
    } else {
      parent.lingering.incrementAndGet();
      closer.execute(() -> asLingering(parent, this::drainAndDestroy));
    }
  }

  /**
   * As {@link #close()}, on a thread of its own, which waits for running calls, and for objects
   * made from this one that are closed and not destroyed yet. Does not block; a failure is logged.
   * The close of the parent waits for it.
   *
   * @throws IllegalStateException if this handle has no parent
   */
  public final void closeAside() {
    if (parent == null) {
      throw new IllegalStateException(name + " was not made from another handle");
    }
    parent.lingering.incrementAndGet();
    Thread thread = new Thread(() -> logged(() -> asLingering(parent, this::close)), "close-aside");
    thread.setDaemon(true);
    thread.start();
  }

  private void drainAndDestroy() {
    await(() -> ((long) STATE.getVolatile(this) & CALLS) == 0);
    if (leakWarning != null) {
      leakWarning.closed = true;
    }
    long nanos = nanosToLinger();
    if (nanos > 0 && parent != null) {
      parent.lingering.incrementAndGet();
      CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Lingering.THREAD)
          .execute(() -> logged(() -> asLingering(parent, this::destroyNow)));
    } else {
      destroyNow();
    }
  }

  private void destroyNow() {
    try {
      destroy(pointer);
    } finally {
      if (parent != null) {
        parent.removeChild();
      }
    }
  }

  private void logged(Runnable closing) {
    try {
      closing.run();
    } catch (RuntimeException e) {
      LOG.warn("closing {} failed: {}", name, e.toString());
    }
  }

  /** Does what the parent's close waits for, which is told of the end. */
  private static void asLingering(NativeHandle parent, Runnable closing) {
    try {
      closing.run();
    } finally {
      parent.lingering.decrementAndGet();
      synchronized (parent.drained) {
        parent.drained.notifyAll();
      }
    }
  }

  /** Returns at once if there are children that nobody has closed. */
  private void awaitLingering() {
    await(
        () -> {
          long children = (long) STATE.getVolatile(this) >> 32;
          return children <= 0 || children > lingering.get();
        });
  }

  private void await(BooleanSupplier done) {
    boolean interrupted = false;
    synchronized (drained) {
      while (!done.getAsBoolean()) {
        try {
          drained.wait();
        } catch (InterruptedException e) {
          interrupted = true; // the native calls cannot be interrupted: go on waiting
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void addChild() {
    long now;
    do {
      now = (long) STATE.getVolatile(this);
      if (now < 0) {
        throw new IllegalStateException(name + " is closed");
      }
    } while (!STATE.compareAndSet(this, now, now + CHILD));
  }

  private void removeChild() {
    STATE.getAndAdd(this, -CHILD);
  }

  /** Destroys what lives on after its close. */
  private static final class Lingering {
    static final Executor THREAD =
        Executors.newSingleThreadExecutor(
            work -> {
              Thread thread = new Thread(work, "close-later");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Says that a handle was lost; it must not touch the native object, whose parent may be gone. */
  private static final class LeakWarning implements Runnable {
    private final String name;
    private volatile boolean closed;

    LeakWarning(String name) {
      this.name = name;
    }

    @Override
    public void run() {
      if (!closed) {
        LOG.warn("{} was never closed: its native object is leaked", name);
      }
    }
  }
}
