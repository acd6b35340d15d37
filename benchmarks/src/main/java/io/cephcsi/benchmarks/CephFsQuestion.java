package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.MonitorQueries;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * How long do calls on CephFS take beside the same in the steps of ceph-csi, and how much CPU of
 * the driver: of a young process, after 20 calls of each kind, and of a warm one?
 */
final class CephFsQuestion implements Question {
  private static final int YOUNG = 20;
  private static final String PEER = "steps of ceph-csi";

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try (RadosCluster cluster = RbdImages.connection(setup.conf());
        IoContext io =
            cluster.openPool(
                cluster.poolName(MonitorQueries.fileSystems(cluster).get(0).metadataPoolId()),
                "csi")) {
      Rounds rounds =
          new Rounds(setup, driver, ControllerCalls.cephFs(driver), new CephFsPeer(cluster, io));
      rounds.run(YOUNG);
      List<Finding> findings = new ArrayList<>(rounds.findings("young", setup.scaled(50, 25)));
      rounds.run(setup.scaled(400, 150));
      findings.addAll(rounds.findings("warm", setup.scaled(100, 50)));
      return findings;
    } finally {
      driver.stop();
    }
  }

  /** A part of each round: the same of both. */
  private interface Step {
    void of(int number);
  }

  /** Calls of each kind, in turns with the steps of ceph-csi. */
  private static final class Rounds {
    private final BenchSetup setup;
    private final DriverState driver;
    private final ControllerCalls calls;
    private final CephFsPeer peer;
    private final Map<String, Sample> samples = new LinkedHashMap<>();

    Rounds(BenchSetup setup, DriverState driver, ControllerCalls calls, CephFsPeer peer) {
      this.setup = setup;
      this.driver = driver;
      this.calls = calls;
      this.peer = peer;
    }

    List<Finding> findings(String state, int count) throws IOException, InterruptedException {
      run(count);
      List<Finding> findings = new ArrayList<>();
      samples.forEach(
          (kind, sample) -> {
            findings.add(
                Finding.time(
                        "cephfs-" + state + "-" + kind.replace(' ', '-'),
                        "CephFS, " + state + ": " + kind,
                        "ms",
                        sample.ours)
                    .beside(PEER, sample.theirs)
                    .beside("the manager's part of them", sample.manager));
            findings.add(
                Finding.time(
                    "cephfs-" + state + "-cpu-" + kind.replace(' ', '-'),
                    "CPU of the driver, " + state + ": " + kind,
                    "ms",
                    sample.cpuMillis / count));
          });
      return findings;
    }

    /** Makes and deletes one of each kind, so many times. */
    void run(int count) throws IOException, InterruptedException {
      samples.clear();
      String run = "bench-" + UUID.randomUUID();
      String[] volumes = new String[count];
      String[] snapshots = new String[count];
      String[] shallow = new String[count];
      String[] peerVolumes = new String[count];
      String[] peerSnapshots = new String[count];
      String[] peerShallow = new String[count];
      step(
          "create",
          count,
          i -> volumes[i] = calls.create(run + "-v-" + i, ""),
          i -> peerVolumes[i] = peer.create(run + "-pv-" + i));
      step(
          "the same again",
          count,
          i -> volumes[i] = calls.create(run + "-v-" + i, ""),
          i -> peer.again(run + "-pv-" + i));
      step(
          "snapshot",
          count,
          i -> snapshots[i] = calls.snapshot(volumes[i], run + "-s-" + i),
          i -> peerSnapshots[i] = peer.snapshot(peerVolumes[i], run + "-ps-" + i));
      for (String snapshot : peerSnapshots) {
        peer.track(snapshot);
      }
      step(
          "shallow volume",
          count,
          i -> shallow[i] = calls.create(run + "-c-" + i, snapshots[i]),
          i -> peerShallow[i] = peer.shallow(peerVolumes[i], peerSnapshots[i], run + "-pc-" + i));
      step(
          "delete a shallow volume",
          count,
          i -> calls.delete(shallow[i]),
          i ->
              peer.deleteShallow(
                  peerVolumes[i], peerSnapshots[i], peerShallow[i], run + "-pc-" + i));
      step(
          "delete a snapshot",
          count,
          i -> calls.deleteSnapshot(snapshots[i]),
          i -> peer.deleteSnapshot(peerVolumes[i], peerSnapshots[i], run + "-ps-" + i));
      step(
          "delete",
          count,
          i -> calls.delete(volumes[i]),
          i -> peer.delete(peerVolumes[i], run + "-pv-" + i));
      for (String snapshot : peerSnapshots) {
        peer.untrack(snapshot);
      }
    }

    private void step(String kind, int count, Step ours, Step theirs)
        throws IOException, InterruptedException {
      Sample sample = new Sample(new double[count], new double[count], new double[count], 0);
      double cpu = driver.cpuMillis();
      for (int i = 0; i < count; i++) {
        int number = i;
        sample.ours[i] = 1e3 * setup.seconds(() -> ours.of(number));
        peer.managerMillis();
        long start = System.nanoTime();
        theirs.of(i);
        sample.theirs[i] = (System.nanoTime() - start) / 1e6;
        sample.manager[i] = peer.managerMillis();
      }
      samples.put(
          kind, new Sample(sample.ours, sample.theirs, sample.manager, driver.cpuMillis() - cpu));
    }
  }

  /** What the calls of one kind took. */
  @SuppressWarnings("ArrayRecordComponent") // read, never compared
  private record Sample(double[] ours, double[] theirs, double[] manager, double cpuMillis) {}
}
