package io.cephcsi.bindings.error;

/**
 * Checks the return codes of the native libraries: a negative one becomes a {@link CephException}
 * of the right type, any other is returned.
 *
 * <p>One errno can mean different things in different calls (ERANGE is a short buffer in one and a
 * stale version in another): where the meaning is known, the caller translates before it comes
 * here.
 */
public final class ReturnCode {
  private ReturnCode() {}

  /**
   * Returns a result that is not negative, or throws.
   *
   * @param code what the native call returned
   * @param operation the name of the C function
   * @param object what the call was about; may be empty
   * @return the code, never negative
   */
  public static int check(int code, String operation, String object) {
    if (code < 0) {
      throw exception(code, operation, object, "");
    }
    return code;
  }

  /** As {@link #check(int, String, String)}, for calls that return 64 bits. */
  public static long check(long code, String operation, String object) {
    if (code < 0) {
      throw exception((int) code, operation, object, "");
    }
    return code;
  }

  /** The exception for a negative return code. */
  public static CephException exception(int code, String operation, String object, String detail) {
    return switch (Errno.of(code)) {
      case ENOENT -> new CephException.NotFound(operation, object, code, detail);
      case EEXIST -> new CephException.AlreadyExists(operation, object, code, detail);
      case EACCES, EPERM -> new CephException.Denied(operation, object, code, detail);
      case ETIMEDOUT -> new CephException.TimedOut(operation, object, code, detail);
      case ESHUTDOWN -> new CephException.Blocklisted(operation, object, code, detail);
      case EBUSY -> new CephException.Busy(operation, object, code, detail);
      case EFBIG -> new CephException.TooLarge(operation, object, code, detail);
      case ECANCELED -> new CephException.Canceled(operation, object, code, detail);
      default -> new CephException(operation, object, code, detail);
    };
  }
}
