package io.cephcsi.benchmarks;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.cephfs.DirectorySnapshots;
import io.cephcsi.bindings.rados.RadosCluster;
import java.io.IOException;
import java.util.List;
import java.util.UUID;

/** How long does it take to list the snapshots of a directory, and to find the data in one? */
final class SnapshotQuestion implements Question {
  private static final String FILE_SYSTEM = "cephfs";
  private static final int SNAPSHOTS = 100;
  private static final int MODE = 0755;
  private static final int BATCH = 20;

  /** After so many the JVM has compiled what one does. */
  private static final int COMPILED = 3000;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    String directory = "/bench-snapshots-" + UUID.randomUUID();
    String data = directory + "/" + UUID.randomUUID();
    try (RadosCluster cluster = RbdImages.connection(setup.conf());
        CephFsMount mount = CephFsMount.mount(cluster, FILE_SYSTEM, "/")) {
      mount.makeDirectories(data, MODE);
      DirectorySnapshots snapshots = mount.snapshots(directory);
      try {
        for (int i = 0; i < SNAPSHOTS; i++) {
          mount.makeDirectory(snapshots.path("s" + i), MODE);
        }
        return measure(setup, snapshots, directory);
      } finally {
        for (String name : snapshots.names()) {
          mount.removeDirectory(snapshots.path(name));
        }
        mount.removeDirectory(data);
        mount.removeDirectory(directory);
      }
    }
  }

  private static List<Finding> measure(
      BenchSetup setup, DirectorySnapshots snapshots, String directory)
      throws IOException, InterruptedException {
    int rounds = setup.scaled(60, 20);
    double[] list = new double[rounds];
    double[] c = new double[rounds];
    double[] find = new double[rounds];
    try (BaselineServer baseline =
        BaselineServer.start(
            setup.program("snapshots"), setup.conf().toString(), FILE_SYSTEM, directory)) {
      for (int i = 0; i < COMPILED; i++) {
        list(snapshots);
      }
      for (int round = -rounds / 4; round < rounds; round++) {
        int at = Math.max(round, 0);
        Turns turns = new Turns(setup, baseline, round % 2 == 0);
        double[] listed = turns.seconds(n -> repeat(n, () -> list(snapshots)), "list", BATCH);
        list[at] = 1e3 * listed[0] / BATCH;
        c[at] = 1e3 * listed[1] / BATCH;
        find[at] = 1e3 * setup.seconds(() -> repeat(BATCH, () -> find(snapshots))) / BATCH;
      }
    }
    return List.of(
        Finding.time("snapshots", "listing 100 snapshots of a directory", "ms", list)
            .beside(Finding.C, c)
            .withinItself(1),
        Finding.time("snapshot-path", "finding the data in a snapshot", "ms", find));
  }

  private static void repeat(int count, Runnable work) {
    for (int i = 0; i < count; i++) {
      work.run();
    }
  }

  private static void list(DirectorySnapshots snapshots) {
    if (snapshots.names().size() != SNAPSHOTS) {
      throw new IllegalStateException("snapshots are missing");
    }
  }

  private static void find(DirectorySnapshots snapshots) {
    if (snapshots.contents("s7").size() != 1) {
      throw new IllegalStateException("the data is not found");
    }
  }
}
