package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.Version;
import picocli.CommandLine.IVersionProvider;

/** What {@code --version} prints. */
final class VersionLine implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {"ceph-csi-java " + Version.current()};
  }
}
