package io.cephcsi.driver.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ceph-csi bench}: measures a cluster. */
@Command(
    name = "bench",
    description = "Measures the driver on a cluster, with an image that it makes and removes.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    subcommands = {BenchReclaimCommand.class, BenchCompareCommand.class})
final class BenchCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Missing command: reclaim or compare");
  }
}
