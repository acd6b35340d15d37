package io.cephcsi.driver.kubernetes;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.UpgradeCommand;
import java.nio.file.Path;
import java.util.Map;

/** The release of the chart that ci/kubernetes installed. */
final class Release {
  private static final String NAME = "ceph-csi-java";
  private static final Path CHART = Path.of("deploy/charts/ceph-csi-java");

  private Release() {}

  /** Installs the chart, with the values of ci/kubernetes. */
  static void install() {
    new Helm(CHART)
        .install()
        .withName(NAME)
        .withNamespace(DriverPods.NAMESPACE)
        .withValuesFile(values())
        .withKubeConfig(kubeConfig())
        .call();
  }

  /** Upgrades the release to the values of ci/kubernetes, changed. */
  static void upgrade(Map<String, Object> changes) {
    UpgradeCommand command =
        new Helm(CHART)
            .upgrade()
            .withName(NAME)
            .withNamespace(DriverPods.NAMESPACE)
            .withValuesFile(values())
            .withKubeConfig(kubeConfig());
    changes.forEach(command::set);
    command.call();
  }

  /** Uninstalls the release. */
  static void uninstall() {
    Helm.uninstall(NAME).withNamespace(DriverPods.NAMESPACE).withKubeConfig(kubeConfig()).call();
  }

  private static Path values() {
    return Kubernetes.folder().resolve("values.yaml");
  }

  private static Path kubeConfig() {
    return Kubernetes.folder().resolve("kubeconfig");
  }
}
