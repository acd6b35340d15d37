package io.cephcsi.driver.reclaim.luks;

import io.cephcsi.driver.reclaim.fs.RefusalReason;

/** An encrypted device is not read: something about it is not certain, or not known here. */
public final class LuksRefusal extends Exception {
  private static final long serialVersionUID = 1L;

  private final RefusalReason reason;

  /**
   * @param reason the class of reason
   * @param detail a sentence for people, without anything secret
   */
  LuksRefusal(RefusalReason reason, String detail) {
    super(detail, null, false, false);
    this.reason = reason;
  }

  /** The class of reason. */
  public RefusalReason reason() {
    return reason;
  }

  /** The sentence for people. */
  public String detail() {
    return String.valueOf(getMessage());
  }

  static LuksRefusal unsupported(String detail) {
    return new LuksRefusal(RefusalReason.UNSUPPORTED_FEATURE, detail);
  }

  static LuksRefusal inconsistent(String detail) {
    return new LuksRefusal(RefusalReason.INCONSISTENT, detail);
  }

  /** Refuses as inconsistent unless the condition holds. */
  static void require(boolean holds, String otherwise) throws LuksRefusal {
    if (!holds) {
      throw inconsistent(otherwise);
    }
  }
}
