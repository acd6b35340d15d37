package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class ConfigFileTest {
  private static final String MINIMAL = "drivers: [{type: rbd, endpoint: /csi/csi.sock}]\n";

  @TempDir private Path folder;

  /** As ceph-csi's process, which has no such option. */
  @Test
  void metricsAreOnTheAddressOfThePodUnlessAnotherIsGiven() {
    Map<String, String> pod = Map.of("POD_IP", "10.0.0.9");
    assertThat(settings().metrics(pod).address()).isEqualTo("10.0.0.9");
    assertThat(settings().metrics(Map.of()).address()).isEmpty();
    assertThat(settings("--metricsip=0.0.0.0").metrics(pod).address()).isEqualTo("0.0.0.0");
  }

  private static ProcessSettings settings(String... args) {
    return CommandLine.populateCommand(new ProcessSettings(), args);
  }

  @Test
  void allSettingsOfTwoDriversAreRead() throws IOException {
    DriverConfig config =
        read(
            """
            # both kinds in one process
            clustersFile: /etc/clusters.json
            metricsPort: 8680
            metricsIp: 127.0.0.1
            metricsPath: /numbers
            connectTimeoutSeconds: 3
            operationTimeoutSeconds: 7
            gracePeriodSeconds: 0
            reclaims: 5
            drivers:
              - type: rbd
                name: rbd.example.com
                endpoint: unix:///csi/rbd.sock
                csiAddonsEndpoint: unix:///csi/rbd-addons.sock
                nodeId: node-1
                instanceId: blue
                controller: true
                node: true
              - type: CephFS
                endpoint: unix:///csi/cephfs.sock
                controller: false
            """);
    assertThat(config)
        .isEqualTo(
            new DriverConfig(
                Path.of("/etc/clusters.json"),
                new MetricsEndpoint("127.0.0.1", 8680, "/numbers"),
                Duration.ofSeconds(3),
                Duration.ofSeconds(7),
                Duration.ZERO,
                5,
                List.of(
                    new DriverConfig.Driver(
                        DriverConfig.Type.RBD,
                        "rbd.example.com",
                        Path.of("/csi/rbd.sock"),
                        Optional.of(Path.of("/csi/rbd-addons.sock")),
                        "node-1",
                        "blue",
                        true,
                        true),
                    new DriverConfig.Driver(
                        DriverConfig.Type.CEPHFS,
                        "cephfs.csi.ceph.com",
                        Path.of("/csi/cephfs.sock"),
                        Optional.empty(),
                        "",
                        "default",
                        false,
                        false))));
  }

  @Test
  void aKeyThatIsLeftOutHasItsDefault() throws IOException {
    DriverConfig config = read(MINIMAL);
    assertThat(config.clustersFile()).isEqualTo(Path.of("/etc/ceph-csi-config/config.json"));
    assertThat(config.metrics()).isEqualTo(MetricsEndpoint.NONE);
    assertThat(config.kmsFile()).isEqualTo(KmsConfig.DEFAULT_FILE);
    assertThat(read(MINIMAL + "kmsConfig: /etc/kms.json\n").kmsFile())
        .isEqualTo(Path.of("/etc/kms.json"));
    assertThat(read(MINIMAL + "kmsConfig: ''\n").kmsFile()).isEqualTo(KmsConfig.DEFAULT_FILE);
    assertThat(config.reclaims()).isPositive();
    DriverConfig.Driver driver = config.drivers().get(0);
    assertThat(driver.name()).isEqualTo("rbd.csi.ceph.com");
    assertThat(driver.instanceId()).isEqualTo("default");
    assertThat(driver.controller()).isTrue();
    assertThat(driver.node()).isFalse();
  }

  @Test
  void aTopologyIsWrittenDownOrTakenFromTheNodesLabels() throws IOException {
    String more = "    topology: {zone: a}\n    domainLabels: [topology.kubernetes.io/rack]\n";
    DriverConfig.Driver driver =
        read("drivers:\n  - type: rbd\n    endpoint: /csi/csi.sock\n" + more).drivers().get(0);
    assertThat(driver.nodeSettings().topology()).isEqualTo(Map.of("zone", "a"));
    assertThat(driver.nodeSettings().domainLabels()).containsExactly("topology.kubernetes.io/rack");
    assertRefused(
            "drivers:\n  - {type: rbd, endpoint: /csi.sock, domainLabels: [a/zone, b/zone]}\n")
        .hasMessageContaining("a/zone");
  }

  @Test
  void whatHoldsForClustersThatDoNotSayItIsRead() throws IOException {
    String labels = "crushLocationLabels: [topology.kubernetes.io/zone, rack, ' ', null]\n";
    assertThat(
            read(MINIMAL
                    + "kernelMountOptions: ms_mode=crc\nfuseMountOptions: debug\n"
                    + "readAffinity: true\n"
                    + labels)
                .clusterDefaults())
        .isEqualTo(
            new ClusterDefaults(
                "ms_mode=crc", "debug", List.of("topology.kubernetes.io/zone", "rack"), ""));
    assertThat(read(MINIMAL + labels).clusterDefaults()).isEqualTo(ClusterDefaults.NONE);
    assertRefused(MINIMAL + "kernelMountOptions: noatime,secretfile=/etc/shadow\n")
        .hasMessageContaining("kernelMountOptions: \"secretfile\"")
        .hasMessageNotContaining("shadow");
    assertRefused(MINIMAL + "fuseMountOptions: subtype=x\n").hasMessageContaining("subtype");
  }

  @Test
  void anUnknownKeyIsAnErrorWithItsLine() throws IOException {
    assertRefused(MINIMAL + "\nmetricPort: 8680\n")
        .hasMessageContaining("metricPort")
        .hasMessageContaining("line 3");
    assertRefused("drivers:\n  - type: rbd\n    endpoint: /csi.sock\n    nodeid: n\n")
        .hasMessageContaining("nodeid")
        .hasMessageContaining("line 4");
  }

  @Test
  void aKeyThatIsGivenTwiceIsAnError() throws IOException {
    assertRefused(MINIMAL + "reclaims: 1\nreclaims: 2\n").hasMessageContaining("reclaims");
  }

  @Test
  void textThatIsNotYamlIsAnErrorWithItsLine() throws IOException {
    assertRefused("drivers:\n  - type: [rbd\n").hasMessageContaining("line");
    assertRefused("drivers: {a: b\n").hasMessageContaining("line");
    assertRefused("just text").hasMessageContaining("line 1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "# nothing but a comment\n", "---\n", "null\n", "{}\n"})
  void anEmptyFileIsAnError(String text) throws IOException {
    assertRefused(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "drivers: []",
        "drivers:",
        "drivers: [null]",
        "drivers: [{}]",
        "drivers: [{type: rbd}]",
        "drivers: [{endpoint: /csi.sock}]",
        "drivers: [{type: nfs, endpoint: /csi.sock}]",
        "drivers: [{type: rbd, endpoint: ''}]",
        "drivers: [{type: rbd, endpoint: 'tcp://0.0.0.0:1'}]",
        "drivers: [{type: rbd, endpoint: /csi.sock, node: true}]",
        "drivers: [{type: rbd, endpoint: /csi.sock, name: 'two words'}]",
        "drivers: [{type: rbd, endpoint: /csi.sock, name: '-x'}]",
        "drivers: [{type: rbd, endpoint: /csi.sock, instanceId: ''}]",
        "drivers: [{type: rbd, endpoint: /csi.sock}, {type: cephfs, endpoint: /csi.sock}]",
        "drivers: [{type: rbd, endpoint: /csi.sock}, {type: cephfs, endpoint: 'unix:///csi.sock'}]",
        "drivers: [{type: rbd, endpoint: /a/csi.sock}, {type: cephfs, endpoint: /a/../a/csi.sock}]",
        "drivers: [{type: rbd, endpoint: /csi.sock, csiAddonsEndpoint: /csi.sock}]",
        "drivers: {type: rbd, endpoint: /csi.sock}",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nmetricsPort: 65536",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nmetricsPort: -1",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nmetricsPath: numbers",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nmetricsPort: many",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nreclaims: 0",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nreclaims: 65",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nconnectTimeoutSeconds: 0",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\noperationTimeoutSeconds: 0",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\ngracePeriodSeconds: -1",
        "drivers: [{type: rbd, endpoint: /csi.sock}]\nclustersFile: \"\\0\"",
      })
  void aConfigurationThatCannotBeServedIsRefused(String text) throws IOException {
    assertRefused(text);
  }

  @Test
  void duplicatedEndpointsAreNamed() throws IOException {
    assertRefused(
            """
            drivers:
              - {type: rbd, endpoint: /csi/a.sock, csiAddonsEndpoint: /csi/b.sock}
              - {type: cephfs, endpoint: /csi/b.sock}
            """)
        .hasMessageContaining("endpoint /csi/b.sock");
  }

  @Test
  void aNameHasAtMost63Characters() throws IOException {
    String text = "drivers: [{type: rbd, endpoint: /csi.sock, name: %s}]";
    assertThat(read(text.formatted("n".repeat(63))).drivers()).hasSize(1);
    assertRefused(text.formatted("n".repeat(64))).hasMessageContaining("63");
  }

  @Test
  void aMissingFileIsAnErrorThatSaysSo() {
    Path missing = folder.resolve("missing.yaml");
    assertThatThrownBy(() -> ConfigFile.read(missing))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("missing.yaml")
        .hasMessageContaining("does not exist");
    assertThatThrownBy(() -> ConfigFile.read(folder))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(folder.toString());
  }

  private AbstractThrowableAssert<?, ? extends Throwable> assertRefused(String text)
      throws IOException {
    Path file = Files.writeString(folder.resolve("driver.yaml"), text);
    return assertThatThrownBy(() -> ConfigFile.read(file))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("driver.yaml");
  }

  private DriverConfig read(String text) throws IOException {
    return ConfigFile.read(Files.writeString(folder.resolve("driver.yaml"), text));
  }
}
