package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.OwnedMemory;

/**
 * The id of a self-managed snapshot of a pool ({@code rados_aio_ioctx_selfmanaged_snap_create}).
 * The monitors allocate it while the caller goes on: that takes as long as a change of their map,
 * up to a second. Used by one thread. Closing it waits for the monitors, and releases an id that
 * was not taken.
 */
public final class SnapshotId implements AutoCloseable {
  private final IoContext io;
  private final OwnedMemory memory = new OwnedMemory();
  private final long cell;
  private final Completion completion;
  private boolean taken;

  private SnapshotId(IoContext io) {
    this.io = io;
    this.cell = memory.allocate(Long.BYTES);
    this.completion =
        Completion.create(io, "rados_aio_ioctx_selfmanaged_snap_create", io.toString(), false);
  }

  /** Asks for an id and returns at once ({@code rados_aio_ioctx_selfmanaged_snap_create}). */
  public static SnapshotId allocate(IoContext io) {
    SnapshotId id = new SnapshotId(io);
    long pointer = io.enter(); // as all asynchronous operations: without a lambda more
    try {
      id.completion.start(
          pending -> {
            LibRados.rados_aio_ioctx_selfmanaged_snap_create(pointer, id.cell, pending);
            return 0;
          });
      return id;
    } finally {
      io.exit();
    }
  }

  /**
   * Waits for the id.
   *
   * @throws CephException if the monitors refused it
   */
  public long await() {
    completion.await();
    return NativeMemory.getLong(cell);
  }

  /** Says that the id is in use now: closing does not give it back. */
  public void take() {
    taken = true;
  }

  /**
   * Gives an id back that nobody took ({@code rados_ioctx_selfmanaged_snap_remove}). If that fails,
   * the id is never used again, which costs nothing.
   */
  @Override
  public void close() {
    try {
      if (!taken) {
        release();
      }
    } finally {
      completion.close();
      memory.close();
    }
  }

  private void release() {
    try {
      remove(io, await());
    } catch (CephException e) {
      return; // there is none, or it stays unused
    }
  }

  /**
   * Lets the OSDs drop what they keep for a snapshot that nothing refers to any more ({@code
   * rados_ioctx_selfmanaged_snap_remove}).
   */
  public static void remove(IoContext io, long id) {
    io.call(
        "rados_ioctx_selfmanaged_snap_remove",
        io.toString(),
        (pointer, arena) -> LibRados.rados_ioctx_selfmanaged_snap_remove(pointer, id));
  }
}
