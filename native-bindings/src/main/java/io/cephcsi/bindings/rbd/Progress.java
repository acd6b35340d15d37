package io.cephcsi.bindings.rbd;

/**
 * Told how far a long operation of librbd is ({@code librbd_progress_fn_t}).
 *
 * <p>The numbers count objects; {@code total} may change when an operation enters its next phase.
 * Calls come one at a time, on threads of librbd that hold its locks: return soon and do not call
 * the image. When another client keeps the exclusive lock, that client carries the operation out:
 * then some steps are not told, and the operation cannot be cancelled. A throwable stops the
 * operation as far as it can be stopped and is thrown by the call that runs it.
 */
@FunctionalInterface
public interface Progress {
  /** Does not look and does not cancel. */
  Progress NONE = (done, total) -> true;

  /**
   * A step is done.
   *
   * @param done objects done, from 0
   * @param total of how many
   * @return false to cancel: it is not called again, what is in flight ends, and the operation
   *     fails with {@link io.cephcsi.bindings.error.CephException.Canceled} unless it was complete
   *     already
   */
  boolean progress(long done, long total);
}
