package io.cephcsi.bindings.rbd;

import org.jspecify.annotations.Nullable;

/** Throws on the caller's thread what a listener threw below C, where nothing may be thrown. */
final class Rethrown {
  private Rethrown() {}

  static void ifAny(@Nullable Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    if (thrown instanceof RuntimeException exception) {
      throw exception;
    }
    if (thrown != null) {
      throw new IllegalStateException(thrown); // checked, thrown sneakily
    }
  }
}
