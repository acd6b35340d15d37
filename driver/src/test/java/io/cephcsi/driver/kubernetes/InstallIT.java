package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.cephcsi.driver.docs.Documents;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** The five commands of the documentation, and the values that stand there, on an empty cluster. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class InstallIT {
  private static final String SECTION =
      Documents.section(Path.of("docs/install.md"), "Five commands");
  private static final YAMLMapper YAML = new YAMLMapper();

  /** The variable with the registry that ci/kubernetes started: what REGISTRY stands for. */
  private static final String REGISTRY = "CI_KUBERNETES_REGISTRY";

  @TempDir private Path folder;

  @Test
  void theDocumentedCommandsInstallADriverThatServesClaims() throws Exception {
    String registry = System.getenv(REGISTRY);
    assumeTrue(DriverPods.inPods() && registry != null, "needs a registry: ci/kubernetes has one");
    JsonNode cluster = YAML.readTree(Kubernetes.folder().resolve("values.yaml").toFile());
    YAML.writeValue(folder.resolve("values.yaml").toFile(), values(registry, cluster));
    // Here the tests run from what the first command makes: it must not be made again meanwhile.
    List<String> all = Documents.block(SECTION).lines().toList();
    assertThat(all).hasSize(5);
    assertThat(all.get(0)).startsWith("mvn ").endsWith("package");
    String others =
        all.stream().skip(1).collect(Collectors.joining("\n")).replace("REGISTRY", registry);
    try (Kubernetes kubernetes = new Kubernetes()) {
      Release.uninstall();
      DocumentedCommands commands = new DocumentedCommands(folder);
      try {
        commands.run(others);
        kubernetes.claim("data", RBD, "64Mi");
        TestPod pod = kubernetes.pod("pod").with("data").start();
        assertThat(pod.run("echo hello >/data/file && cat /data/file")).isEqualTo("hello");
        pod.delete();
        kubernetes.deleteClaim("data");
      } finally {
        commands.run("helm uninstall ceph-csi-java -n ceph-csi || true");
        Release.install();
        kubernetes.driver().awaitReady();
      }
    }
  }

  /** Those of the documentation, with this cluster's names, keys and folders. */
  private static JsonNode values(String registry, JsonNode cluster) throws IOException {
    String text = Documents.block(SECTION.substring(SECTION.indexOf("with this")));
    ObjectNode values =
        (ObjectNode)
            YAML.readTree(
                text.replace("REGISTRY", registry)
                    .replace("my-cluster", cluster.at("/csiConfig/0/clusterID").asText())
                    .replace("userID: csi-rbd", "userID: " + cluster.at("/secret/userID").asText())
                    .replace("KEY", cluster.at("/secret/userKey").asText()));
    ((ObjectNode) values.at("/csiConfig/0")).set("monitors", cluster.at("/csiConfig/0/monitors"));
    ((ObjectNode) values.get("storageClass")).put("mounter", "fuse");
    for (String key : List.of("kubeletDir", "cephLogDirHostPath", "selinuxMount", "nodeplugin")) {
      if (cluster.has(key)) {
        values.set(key, cluster.get(key));
      }
    }
    if (cluster.at("/provisioner/livenessprobe").isObject()) {
      values
          .putObject("provisioner")
          .set("livenessprobe", cluster.at("/provisioner/livenessprobe"));
    }
    return values;
  }
}
