package io.cephcsi.driver.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ceph-csi tracker}: the reference trackers of CephFS snapshots. */
@Command(
    name = "tracker",
    description = {
      "Shows what refers to the snapshots of a CephFS file system, and checks it against the",
      "journal and the snapshots that there are. Nothing is changed."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    subcommands = {TrackerShowCommand.class, TrackerVerifyCommand.class})
final class TrackerCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Missing command: show or verify");
  }
}
