package io.cephcsi.driver.journal;

/** The name is reserved for an image in another pool than the one asked for. */
public final class PoolMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final long poolId;
  private final String explanation;

  PoolMismatchException(String requestName, long poolId) {
    this(poolId, "the name " + requestName + " belongs to an image in the pool with id " + poolId);
  }

  private PoolMismatchException(long poolId, String explanation) {
    super(explanation);
    this.poolId = poolId;
    this.explanation = explanation;
  }

  /** The pool of the image. */
  public long poolId() {
    return poolId;
  }

  /** Whose name it is, for the user. */
  public String explain() {
    return explanation;
  }
}
