package io.cephcsi.driver.app;

/**
 * A command line or configuration file that cannot be meant so; the message says what to change.
 */
final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ConfigException(String message) {
    super(message);
  }

  ConfigException(String message, Throwable cause) {
    super(message, cause);
  }
}
