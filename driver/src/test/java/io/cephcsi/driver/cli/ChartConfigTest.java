package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.chart.Chart;
import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.cluster.ClusterMapping;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

/** The driver takes the arguments and the configuration that the chart gives it. */
@EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
class ChartConfigTest {
  private static final String CASES = "io.cephcsi.driver.chart.Chart#cases";
  private static final String BEGIN =
      "printf %s \"$CEPH_CSI_CONFIG\" > /tmp/driver.yaml && exec ceph-csi serve ";

  @TempDir private Path folder;

  @ParameterizedTest
  @MethodSource(CASES)
  void argumentsAndConfigurationAreKnown(String values) throws IOException {
    Chart chart = Chart.of(values);
    for (JsonNode workload : chart.workloads()) {
      JsonNode container = Chart.driver(workload);
      assertThat(texts(container.path("command"))).containsExactly("tini", "-s", "--", "sh", "-c");
      String script = container.at("/args/0").asText();
      assertThat(script).startsWith(BEGIN);
      String[] arguments = script.substring(BEGIN.length()).split(" ");
      assertThat(new CommandLine(new ServeCommand()).parseArgs(arguments).errors()).isEmpty();
      assertThat(arguments).containsSequence("--config", "/tmp/driver.yaml");

      boolean node = Chart.kind(workload).equals("DaemonSet");
      DriverConfig config = read(container);
      Map<String, String> mounts =
          StreamSupport.stream(container.path("volumeMounts").spliterator(), false)
              .collect(
                  Collectors.toMap(
                      mount -> mount.path("mountPath").asText(),
                      mount -> mount.path("name").asText()));
      for (DriverConfig.Driver driver : config.drivers()) {
        assertThat(driver.node()).isEqualTo(node);
        assertThat(driver.controller()).isEqualTo(!node);
        assertThat(driver.nodeId()).isEqualTo("0123");
        assertThat(mounts).containsKey(driver.endpoint().getParent().toString());
        assertThat(mounts)
            .containsKey(driver.addonsEndpoint().orElseThrow().getParent().toString());
        driver.credentials().ifPresent(path -> assertThat(mounts).containsKey(path.toString()));
        assertThat(driver.attach()).isEqualTo(!node && driver.credentials().isPresent());
        assertThat(socketsOfSidecars(workload)).contains(driver.endpoint().toString());
      }
      assertThat(mounts).containsKey(config.clustersFile().getParent().toString());
    }
  }

  /** The sockets that the sidecars ask, as the driver's container names them. */
  private static List<String> socketsOfSidecars(JsonNode workload) {
    boolean node = Chart.kind(workload).equals("DaemonSet");
    return Chart.containers(workload).stream()
        .flatMap(
            container ->
                texts(container.path("args")).stream()
                    .filter(argument -> argument.startsWith("--csi-address="))
                    .map(argument -> argument.substring("--csi-address=".length()))
                    .map(
                        socket ->
                            node && container.path("name").asText().endsWith("-cephfs")
                                ? socket.replaceFirst("/csi/", "/csi-cephfs/")
                                : socket))
        .toList();
  }

  @Test
  void valuesReachTheConfiguration() throws IOException {
    DriverConfig controller = config("everything.yaml", "Deployment");
    assertThat(controller.drivers())
        .extracting(DriverConfig.Driver::name)
        .containsExactly("rbd.csi.ceph.com", "cephfs.csi.ceph.com");
    assertThat(controller.drivers().get(0).instanceId()).isEqualTo("x");
    assertThat(controller.drivers().get(1).instanceId()).isEqualTo("default");
    assertThat(controller.metrics().address()).isEqualTo("10.0.0.1");
    assertThat(controller.slowCalls()).isZero();
    assertThat(config("everything.yaml", "DaemonSet").clusterDefaults())
        .isEqualTo(
            new ClusterDefaults("noatime", "debug", List.of("topology.kubernetes.io/zone"), ""));
    DriverConfig node = config("external.yaml", "DaemonSet");
    assertThat(node.slowCalls()).hasSeconds(30);
    assertThat(node.clusterDefaults()).isEqualTo(ClusterDefaults.NONE);
    assertThat(node.drivers()).hasSize(1);
    DriverConfig.Driver driver = node.drivers().get(0);
    assertThat(driver.type()).isEqualTo(DriverConfig.Type.CEPHFS);
    assertThat(driver.name()).isEqualTo("my.fs.example");
    assertThat(driver.nodeSettings().maxVolumes()).isEqualTo(100);
    assertThat(driver.nodeSettings().reclaimBytesPerSecond()).isEqualTo(1L << 30);
    assertThat(config("ceph-csi-cephfs.yaml", "Deployment").drivers().get(0).type())
        .isEqualTo(DriverConfig.Type.CEPHFS);
  }

  /** Driver and ceph-csi look for it beside config.json. */
  @Test
  void theMappingOfAnotherSiteIsBesideTheClusters() throws IOException {
    assertThat(mapping(Chart.of(""))).isEqualTo("[]");
    Path values =
        Files.writeString(
            folder.resolve("values.yaml"),
            """
            csiMapping:
              - clusterIDMapping: {site1: site2}
                RBDPoolIDMapping: [{"3": "12"}]
            """);
    Files.writeString(
        folder.resolve("cluster-mapping.json"), mapping(Chart.rendered(values, "ceph", Map.of())));
    UUID uuid = UUID.randomUUID();
    assertThat(
            ClusterMapping.beside(folder.resolve("config.json"))
                .alternatives(new VolumeId("site2", 12, uuid)))
        .containsExactly(new VolumeId("site1", 3, uuid));
  }

  private static String mapping(Chart chart) {
    return chart
        .find("ConfigMap", "ceph-csi-config")
        .orElseThrow()
        .at("/data/cluster-mapping.json")
        .asText();
  }

  private DriverConfig config(String values, String kind) throws IOException {
    return read(Chart.driver(Chart.of(values).of(List.of(kind)).get(0)));
  }

  /** What kubelet makes of the environment, and the driver of the file. */
  private DriverConfig read(JsonNode container) throws IOException {
    String text =
        StreamSupport.stream(container.path("env").spliterator(), false)
            .filter(variable -> variable.path("name").asText().equals("CEPH_CSI_CONFIG"))
            .map(variable -> variable.path("value").asText())
            .collect(Collectors.joining());
    Path file = folder.resolve("driver.yaml");
    Files.writeString(file, text.replace("$(NODE_ID)", "0123").replace("$(POD_IP)", "10.0.0.1"));
    return ConfigFile.read(file);
  }

  private static List<String> texts(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asText).toList();
  }
}
