package io.cephcsi.bindings.rbd;

/** Told of each extent that a diff finds, in order, one at a time, on any thread. */
@FunctionalInterface
public interface DiffVisitor {
  /**
   * An extent. librbd may hold locks meanwhile: return soon and do not call the image. A throwable
   * ends the walk and is thrown by it.
   *
   * @param offset in bytes
   * @param length in bytes
   * @param exists false for a range that the end version does not have any more, a hole
   * @return false to end the walk
   */
  boolean extent(long offset, long length, boolean exists);
}
