package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.docs.Documents;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** From a cluster in the layout of ceph-csi to this chart and back, by the documented commands. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ChartTakeoverIT {
  private static final Path UPGRADE = Path.of("docs/upgrade.md");
  private static final String READY =
      "kubectl rollout status deployment,daemonset -n ceph-csi --timeout=3m\n";

  @TempDir private Path folder;

  @Test
  void claimsGoOnWhenTheChartTakesOverAndWhenItGoes() throws Exception {
    assumeTrue(DriverPods.inPods(), "the driver does not run in pods: ci/kubernetes --on-host");
    new CephCsiLayout().write(folder);
    DocumentedCommands commands = new DocumentedCommands(folder);
    try (Kubernetes kubernetes = new Kubernetes()) {
      Release.uninstall();
      try {
        commands.run("kubectl apply -f classes.yaml -f ceph-csi.yaml\n" + READY);
        takeOverAndBack(kubernetes, commands);
      } finally {
        commands.run(
            """
            kubectl delete -f ceph-csi.yaml -f classes.yaml --ignore-not-found
            helm uninstall ceph-csi-java -n ceph-csi || true
            """);
        Release.install();
        kubernetes.driver().awaitReady();
      }
    }
  }

  private static void takeOverAndBack(Kubernetes kubernetes, DocumentedCommands commands)
      throws IOException, InterruptedException {
    kubernetes.claim("rbd", RBD, "64Mi");
    kubernetes.claim("cephfs", CEPHFS, "64Mi");
    TestPod running = kubernetes.pod("running").with("rbd").with("cephfs").start();
    write(running, "before", "rbd", "cephfs");
    kubernetes.snapshot("snapshot", "csi-rbd-snapclass", "rbd");

    commands.run(Documents.block(Documents.section(UPGRADE, "From its manifests to this chart")));
    write(running, "meanwhile", "rbd", "cephfs");
    running.delete();
    kubernetes.claim("new-rbd", RBD, "64Mi");
    kubernetes.claim("new-cephfs", CEPHFS, "64Mi");
    kubernetes.claimFrom("VolumeSnapshot", "snapshot", "restored", RBD, "64Mi");
    kubernetes.claimFrom("PersistentVolumeClaim", "cephfs", "copied", CEPHFS, "64Mi");
    TestPod next = kubernetes.pod("next").with("rbd").with("cephfs").with("restored").start();
    assertThat(next.run("cat /rbd/file /cephfs/file /restored/file"))
        .isEqualTo("before\nmeanwhile\nbefore\nmeanwhile\nbefore");
    TestPod second = kubernetes.pod("second").with("new-rbd").with("new-cephfs").start();
    write(second, "new", "new-rbd", "new-cephfs");
    kubernetes.deleteClaim("copied");

    commands.run(Documents.block(Documents.section(UPGRADE, "And back")));
    write(next, "back", "rbd", "cephfs");
    next.delete();
    second.delete();
    TestPod last = kubernetes.pod("last").with("rbd").with("new-rbd").with("new-cephfs").start();
    assertThat(last.run("cat /rbd/file /new-rbd/file /new-cephfs/file"))
        .isEqualTo("before\nmeanwhile\nback\nnew\nnew");
    last.delete();
    kubernetes.deleteClaim("new-rbd");
    kubernetes.deleteClaim("cephfs");
  }

  private static void write(TestPod pod, String line, String... claims) {
    for (String claim : claims) {
      pod.run("echo " + line + " >>/" + claim + "/file && sync");
    }
  }
}
