package io.cephcsi.driver.app;

import picocli.CommandLine.IVersionProvider;

/** The version of the driver, from its jar. */
final class Version implements IVersionProvider {
  /** The version; {@code development} outside a jar. */
  static String current() {
    String version = Version.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  @Override
  public String[] getVersion() {
    return new String[] {"ceph-csi-java " + current()};
  }
}
