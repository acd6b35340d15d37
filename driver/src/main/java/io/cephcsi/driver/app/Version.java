package io.cephcsi.driver.app;

/** The version of the driver, from its jar. */
public final class Version {
  private Version() {}

  /** The version; {@code development} outside a jar. */
  public static String current() {
    String version = Version.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
