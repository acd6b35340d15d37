package io.cephcsi.driver.volume;

/**
 * A request that cannot be served, for a reason that the caller can act on. Errors of the cluster
 * itself are {@code CephException}s and stay what they are.
 */
public final class VolumeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Reason reason;

  /**
   * @param reason what is wrong
   * @param message for the user: what, with which value, and what to do
   */
  public VolumeException(Reason reason, String message) {
    super(message);
    this.reason = reason;
  }

  /** As {@link #VolumeException(Reason, String)}, with the error behind it. */
  public VolumeException(Reason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  /** What is wrong. */
  public Reason reason() {
    return reason;
  }

  /** A request that is wrong in itself. */
  public static VolumeException invalid(String message) {
    return new VolumeException(Reason.INVALID_ARGUMENT, message);
  }

  /** Something that the request speaks of is not there. */
  public static VolumeException notFound(String message) {
    return new VolumeException(Reason.NOT_FOUND, message);
  }

  /** What the caller can act on; each has one status code. */
  public enum Reason {
    /** A field is missing or cannot be meant so. */
    INVALID_ARGUMENT,
    /** The volume, snapshot, pool or source does not exist. */
    NOT_FOUND,
    /** The name is taken by something that does not fit the request. */
    ALREADY_EXISTS,
    /** Another operation of the same volume or name is running, or a page token is stale. */
    ABORTED,
    /** In use, or with dependants. */
    FAILED_PRECONDITION,
    /** No size between required and limit can be made. */
    OUT_OF_RANGE,
    /** Full, over a quota, or too many. */
    RESOURCE_EXHAUSTED,
    /** No credentials, or wrong ones. */
    UNAUTHENTICATED,
    /** No result in time; the work goes on. */
    DEADLINE_EXCEEDED,
    /** The cluster does not answer; try again later. */
    UNAVAILABLE,
    /** This kind of volume cannot do it; do not try again. */
    UNIMPLEMENTED
  }
}
