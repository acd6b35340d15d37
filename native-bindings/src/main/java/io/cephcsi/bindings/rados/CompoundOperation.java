package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.NativeHandle;

/**
 * Steps on one object that are carried out together, once. Built and carried out by one thread: the
 * steps are added without {@link #enter()}, which only {@link #enterOnce()} needs.
 */
abstract sealed class CompoundOperation extends NativeHandle permits ReadOperation, WriteOperation {
  private boolean versionAsserted;
  private boolean carriedOut;

  CompoundOperation(String name, long pointer) {
    super(name, null, pointer, false);
  }

  /**
   * Begins carrying the steps out; ended by {@link #exit()}.
   *
   * @throws IllegalStateException the second time: librados has given the steps away, and would do
   *     nothing and say that it succeeded
   */
  final long enterOnce() {
    long op = enter();
    if (carriedOut) {
      exit();
      throw new IllegalStateException("the " + this + " was carried out already");
    }
    carriedOut = true;
    return op;
  }

  /** Called by the step that asserts the object's version. */
  final void markVersionAsserted() {
    versionAsserted = true;
  }

  /** Whether ERANGE and EOVERFLOW mean that the object has another version. */
  final boolean assertsVersion() {
    return versionAsserted;
  }
}
