package io.cephcsi.bindings.error;

/**
 * A call to the cluster that failed: which operation, on which object, with which errno.
 *
 * <p>Subclasses exist for the few errors that callers decide upon by type; all others are told
 * apart by {@link #errno()}.
 */
public class CephException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String operation;
  private final String object;
  private final int code;

  /**
   * @param operation the C function or command, such as {@code rbd_open}
   * @param object what it was about, such as {@code rbd/csi-vol-1}; may be empty
   * @param code the return code, negative
   * @param detail what the cluster said beside the code; may be empty
   */
  public CephException(String operation, String object, int code, String detail) {
    super(message(operation, object, code, detail));
    this.operation = operation;
    this.object = object;
    this.code = code;
  }

  private static String message(String operation, String object, int code, String detail) {
    Errno errno = Errno.of(code);
    StringBuilder text = new StringBuilder(operation);
    if (!object.isEmpty()) {
      text.append(' ').append(object);
    }
    text.append(": ").append(errno == Errno.UNKNOWN ? "error " + code : errno.name());
    if (!detail.isEmpty()) {
      text.append(" (").append(detail).append(')');
    }
    return text.toString();
  }

  /** The C function or command that failed. */
  public String operation() {
    return operation;
  }

  /** What the operation was about; empty when it was about the cluster as a whole. */
  public String object() {
    return object;
  }

  /** The negative return code as the library gave it. */
  public int code() {
    return code;
  }

  /** The error number; {@link Errno#UNKNOWN} when it is not in the list. */
  public Errno errno() {
    return Errno.of(code);
  }

  /** The object, pool, image or snapshot does not exist (ENOENT). */
  public static final class NotFound extends CephException {
    private static final long serialVersionUID = 1L;

    NotFound(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** It exists already (EEXIST). */
  public static final class AlreadyExists extends CephException {
    private static final long serialVersionUID = 1L;

    AlreadyExists(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** The key is wrong or its capabilities do not allow the operation (EACCES, EPERM). */
  public static final class Denied extends CephException {
    private static final long serialVersionUID = 1L;

    Denied(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** Nobody knows whether the operation was carried out: the answer to it never came. */
  public abstract static sealed class OutcomeUnknown extends CephException
      permits TimedOut, Blocklisted {
    private static final long serialVersionUID = 1L;

    private OutcomeUnknown(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** The cluster did not answer within the time that the connection allows (ETIMEDOUT). */
  public static final class TimedOut extends OutcomeUnknown {
    private static final long serialVersionUID = 1L;

    TimedOut(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** This client is blocklisted and must connect anew (ESHUTDOWN). */
  public static final class Blocklisted extends OutcomeUnknown {
    private static final long serialVersionUID = 1L;

    Blocklisted(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** In use by somebody else, or with dependants that forbid the operation (EBUSY). */
  public static final class Busy extends CephException {
    private static final long serialVersionUID = 1L;

    Busy(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }

  /** A comparison inside a compound operation failed, or the work was cancelled (ECANCELED). */
  public static final class Canceled extends CephException {
    private static final long serialVersionUID = 1L;

    Canceled(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
    }
  }
}
