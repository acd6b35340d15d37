package io.cephcsi.driver.journal;

/** The name is reserved for an image in another pool than the one asked for. */
public final class PoolMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final long poolId;

  PoolMismatchException(String requestName, long poolId) {
    super("the name " + requestName + " belongs to an image in the pool with id " + poolId);
    this.poolId = poolId;
  }

  /** The id of the pool that the existing image is in. */
  public long poolId() {
    return poolId;
  }
}
