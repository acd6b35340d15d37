package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;

/**
 * The object was written since its version was read: ERANGE or EOVERFLOW of an operation that
 * asserts a version. Nothing was changed; read again.
 */
public final class StaleVersionException extends CephException {
  private static final long serialVersionUID = 1L;

  StaleVersionException(String operation, String object, int code) {
    super(operation, object, code, "the object was written meanwhile");
  }
}
