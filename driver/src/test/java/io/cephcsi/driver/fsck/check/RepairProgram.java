package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.crash.FaultPoint;
import io.cephcsi.driver.crash.FaultyProgram;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.LocalCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Checks a pool or file system and mends what it finds, however young that is: {@code ceph-csi fsck
 * --repair} removes nothing that is younger than a minute, which a test that has it killed at each
 * write would wait for each time. Arguments: the ceph.conf, {@code rbd} or {@code cephfs}.
 */
final class RepairProgram {
  private RepairProgram() {}

  /** Runs it; the thread is named main. */
  public static void main(String... arguments) {
    CheckSettings settings =
        new CheckSettings(4, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    try (RadosCluster cluster =
            RadosCluster.connect(
                ConnectionSettings.user("admin").configFile(Path.of(arguments[0])).build());
        Workers workers = new Workers(settings)) {
      if (arguments[1].equals("rbd")) {
        try (IoContext io = cluster.openPool("rbd")) {
          mend(
              new RbdCheck(settings, workers, new CheckProgress(), Set.of("default"))
                  .check(io)
                  .findings());
        }
      } else {
        FileSystemInfo info = MonitorQueries.fileSystems(cluster).get(0);
        try (IoContext io = cluster.openPool(info.metadataPoolId(), "csi")) {
          new FileSystemCheck(
                  settings,
                  workers,
                  new CheckProgress(),
                  Set.of("default"),
                  new FileSystemCheck.Place("csi", Set.of("csi"), Set.of(), true),
                  Map.of())
              .check(cluster, info, io, result -> mend(result.findings()));
        }
      }
    }
  }

  private static void mend(List<Finding> findings) {
    for (Finding finding : findings) {
      finding
          .repair()
          .flatMap(Finding.Repair::mend)
          .ifPresent(done -> System.out.println(finding.kind() + ": " + done));
    }
  }

  /**
   * Runs it in a process.
   *
   * @param fault as {@link FaultyProgram#option} takes it; empty for none
   * @param out gets what it prints
   * @return whether it was halted
   * @throws AssertionError if it failed in another way
   */
  static boolean isHalted(LocalCluster ceph, String storage, String fault, Path out)
      throws IOException, InterruptedException {
    List<String> options =
        new ArrayList<>(List.of("-cp", FaultyProgram.classPath() + ":" + ChildJvm.classPath()));
    if (!fault.isEmpty()) {
      options.add(FaultyProgram.option(fault));
    }
    List<String> command =
        ChildJvm.command(options, RepairProgram.class, ceph.conf().toString(), storage);
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
    try {
      if (!process.waitFor(2, TimeUnit.MINUTES)) {
        throw new AssertionError("it hangs: " + Files.readString(out));
      }
      int code = process.exitValue();
      if (code != 0 && code != FaultPoint.HALTED) {
        throw new AssertionError("exit code " + code + ": " + Files.readString(out));
      }
      return code == FaultPoint.HALTED;
    } finally {
      process.destroyForcibly();
    }
  }
}
