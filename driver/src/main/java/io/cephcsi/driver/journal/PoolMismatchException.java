package io.cephcsi.driver.journal;

/** The name is reserved for an image in another pool than the one asked for. */
public final class PoolMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String explanation;

  PoolMismatchException(String requestName, long poolId) {
    this("the name " + requestName + " belongs to an image in the pool with id " + poolId);
  }

  private PoolMismatchException(String explanation) {
    super(explanation);
    this.explanation = explanation;
  }

  /** Whose name it is, for the user. */
  public String explain() {
    return explanation;
  }
}
