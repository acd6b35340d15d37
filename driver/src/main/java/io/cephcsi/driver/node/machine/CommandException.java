package io.cephcsi.driver.node.machine;

/** An external program that is not there, failed, or did not end in time. */
public final class CommandException extends RuntimeException {
  /** Instead of an exit code, when the program did not run. */
  public static final int NO_EXIT_CODE = -1;

  /** Instead of an exit code, when the program took too long. */
  public static final int TIMED_OUT = -2;

  private static final long serialVersionUID = 1L;

  private final int exitCode;

  public CommandException(String message, int exitCode) {
    super(message);
    this.exitCode = exitCode;
  }

  public CommandException(String message, Throwable cause) {
    super(message, cause);
    this.exitCode = NO_EXIT_CODE;
  }

  /** The program's exit code; negative when there is none. */
  public int exitCode() {
    return exitCode;
  }

  /** Whether the program was killed because its deadline had passed. */
  public boolean timedOut() {
    return exitCode == TIMED_OUT;
  }
}
