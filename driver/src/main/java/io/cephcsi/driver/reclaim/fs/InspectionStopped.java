package io.cephcsi.driver.reclaim.fs;

/** An inspection was told to stop, and gives no answer. Nothing was changed. */
public final class InspectionStopped extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Has no trace: it is no failure. */
  public InspectionStopped() {
    super("the inspection was told to stop", null, false, false);
  }
}
