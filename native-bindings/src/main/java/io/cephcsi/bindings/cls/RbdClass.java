package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ClassCall;

/** Methods of the object class {@code rbd}. */
final class RbdClass {
  /** Among the operation features: a clone of format 2. */
  static final long CLONE_CHILD = 1 << 1;

  private static final String CLASS = "rbd";
  private static final long HEAD = -2; // where a method takes a snapshot: the image itself

  private RbdClass() {}

  static ClassCall call(String method) {
    return ClassCall.of(CLASS, method);
  }

  /** A method about the image itself, where it could be about a snapshot. */
  static ClassCall ofHead(String method) {
    return call(method).u64(HEAD);
  }

  /** Reads u64 features · u64 those that not every client knows; whoever asks only reads. */
  static ClassCall features() {
    return ofHead("get_features").u8(1);
  }
}
