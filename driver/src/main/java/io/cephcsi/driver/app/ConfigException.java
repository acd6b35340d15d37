package io.cephcsi.driver.app;

/**
 * A command line or configuration file that cannot be meant so; the message says what to change.
 */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** With a message for the user. */
  public ConfigException(String message) {
    super(message);
  }

  /** With a message for the user, and what it comes from. */
  public ConfigException(String message, Throwable cause) {
    super(message, cause);
  }

  /** Throws this exception unless a condition holds. */
  public static void require(boolean condition, String message) {
    if (!condition) {
      throw new ConfigException(message);
    }
  }
}
