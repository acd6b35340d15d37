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

  /** Whether what is stored can't be read: it is not what belongs there, or too large. */
  public boolean isOfDamage() {
    return errno() == Errno.EBADMSG || errno() == Errno.EFBIG;
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
      permits TimedOut, Blocklisted, OwnerSilent {
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

  /**
   * The client that has the exclusive lock of an image does not answer, or takes too long
   * (ETIMEDOUT): the call was given up and may be carried out later, or was not begun as another
   * one is not carried out yet, or as too many calls wait. The connection is none the worse for it.
   */
  public static final class OwnerSilent extends OutcomeUnknown {
    private static final long serialVersionUID = 1L;

    private final boolean isUnderWay;

    /**
     * Of a call that may be carried out later, or as the one before it may be. The arguments of
     * {@link CephException#CephException(String, String, int, String)}.
     */
    public OwnerSilent(String operation, String object, int code, String detail) {
      this(operation, object, code, detail, true);
    }

    /** As the other one; see {@link #isUnderWay()}. */
    public OwnerSilent(
        String operation, String object, int code, String detail, boolean isUnderWay) {
      super(operation, object, code, detail);
      this.isUnderWay = isUnderWay;
    }

    /**
     * Whether the call, or another one on the same image or group that was given up, may still be
     * carried out; false if this one was not begun, for want of room, and there is no other.
     */
    public boolean isUnderWay() {
      return isUnderWay;
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

  /** What is stored, or was to be stored, is larger than may be (EFBIG). */
  public static final class TooLarge extends CephException {
    private static final long serialVersionUID = 1L;

    private final String detail;

    TooLarge(String operation, String object, int code, String detail) {
      super(operation, object, code, detail);
      this.detail = detail;
    }

    /** What is too large, on one line of ASCII; empty when the cluster did not say. */
    public String detail() {
      return detail;
    }
  }
}
