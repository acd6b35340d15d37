package io.cephcsi.driver.reclaim.fs;

/** Carries a reason to refuse from where it is found to {@link FileSystems}; never leaves it. */
final class Refusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final RefusalReason reason;
  private final String detail;

  Refusal(RefusalReason reason, String detail) {
    super(detail, null, false, false);
    this.reason = reason;
    this.detail = detail;
  }

  Inspection.Refused of(FileSystemKind kind) {
    return new Inspection.Refused(kind, reason, detail);
  }

  static Refusal inconsistent(String detail) {
    return new Refusal(RefusalReason.INCONSISTENT, detail);
  }

  static Refusal unsupported(String detail) {
    return new Refusal(RefusalReason.UNSUPPORTED_FEATURE, detail);
  }

  static Refusal checksum(String of) {
    return new Refusal(RefusalReason.BAD_CHECKSUM, "the checksum of " + of + " is wrong");
  }

  /** Refuses as inconsistent unless the condition holds. */
  static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw inconsistent(otherwise);
    }
  }
}
