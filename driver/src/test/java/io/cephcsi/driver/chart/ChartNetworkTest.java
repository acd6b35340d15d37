package io.cephcsi.driver.chart;

import static io.cephcsi.driver.chart.Chart.containers;
import static io.cephcsi.driver.chart.Chart.list;
import static io.cephcsi.driver.chart.Chart.texts;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The chart's pods get ports that are free, and open them to those who need them. */
@EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
class ChartNetworkTest {
  private static final String CASES = "io.cephcsi.driver.chart.Chart#cases";

  /** A pod that asks for a port which another has on its node is not scheduled. */
  @ParameterizedTest
  @MethodSource(CASES)
  void aControllerOnTheNodesNetworkHasPortsOfItsOwn(String values) {
    Map<String, Object> beside = new HashMap<>();
    beside.put("provisioner.enableHostNetwork", true);
    beside.put("networkPolicy.enabled", false);
    beside.put("nodeplugin.httpMetrics.enabled", true);
    beside.put("csiAddons.enabled", true);
    if (values.startsWith("ceph-csi-")) {
      assertThatThrownBy(() -> Chart.rendered(values, beside))
          .hasMessageContaining("provisioner.httpMetrics.containerPort");
      beside.put("provisioner.httpMetrics.containerPort", 18080);
    }
    Chart chart = Chart.rendered(values, beside);
    Set<Integer> taken = new HashSet<>();
    for (JsonNode workload : chart.workloads()) {
      assertThat(workload.at("/spec/template/spec/hostNetwork").asBoolean()).isTrue();
      Set<Integer> own = new HashSet<>(ChartTest.ports(workload));
      for (JsonNode container : containers(workload)) {
        texts(container.path("args")).stream()
            .filter(argument -> argument.matches("--(health-port|http-endpoint)=.*"))
            .forEach(argument -> own.add(Integer.parseInt(argument.replaceAll(".*[=:]", ""))));
      }
      own.forEach(port -> assertThat(taken.add(port)).as("port " + port).isTrue());
    }
    assertThat(taken).hasSizeGreaterThan(3);
  }

  /** The next pod would wait for the ports of the one before, and that for the next pod. */
  @Test
  void aSingleControllerOnTheNodesNetworkIsReplacedAfterItsEnd() {
    Map<String, Object> values = new HashMap<>();
    values.put("provisioner.enableHostNetwork", true);
    assertThat(strategy(values).path("type").asText()).isEqualTo("RollingUpdate");
    values.put("provisioner.replicaCount", 1);
    assertThat(strategy(values).toString()).isEqualTo("{\"type\":\"Recreate\"}");
    values.put("provisioner.enableHostNetwork", false);
    assertThat(strategy(values).at("/rollingUpdate/maxUnavailable").asText()).isEqualTo("50%");
  }

  private static JsonNode strategy(Map<String, Object> values) {
    return Chart.rendered("", values).of(List.of("Deployment")).get(0).at("/spec/strategy");
  }

  /** Go splits an address at its colons, of which those of IPv6 have more. */
  @Test
  void addressesOfSidecarsMayBeOfIpv6() {
    List<String> endpoints =
        Chart.rendered(
                "everything.yaml",
                Map.of("provisioner.snapshotMetadata.args.httpEndpointPort", 8094))
            .workloads()
            .stream()
            .flatMap(workload -> containers(workload).stream())
            .flatMap(container -> texts(container.path("args")).stream())
            .filter(argument -> argument.contains("POD_IP"))
            .toList();
    assertThat(endpoints)
        .hasSizeGreaterThan(3)
        .contains("--http-endpoint=[$(POD_IP)]:8090", "--http-endpoint=[$(POD_IP)]:8094")
        .allMatch(argument -> argument.matches("--http-endpoint=\\[\\$\\(POD_IP\\)]:\\d+"));
  }

  /** Its sidecar takes every token of the cluster. */
  @Test
  void csiAddonsAreOpenToTheirManagerOnlyUnlessValuesSaySo() {
    Map<String, Object> addons = Map.of("csiAddons.enabled", true);
    for (String type : List.of("rbd", "cephfs")) {
      Chart chart = Chart.rendered("", Map.of("csiAddons.enabled", true, "type", type));
      JsonNode policy = chart.find("NetworkPolicy", "ceph-ceph-csi-java-provisioner").orElseThrow();
      JsonNode controller = chart.of(List.of("Deployment")).get(0);
      int port =
          containers(controller).stream()
              .filter(container -> container.path("name").asText().equals("csi-addons"))
              .mapToInt(container -> container.at("/ports/0/containerPort").asInt())
              .findFirst()
              .orElseThrow();
      assertThat(port).isEqualTo(type.equals("rbd") ? 9070 : 9071);
      List<JsonNode> rules =
          list(policy.at("/spec/ingress")).stream()
              .filter(rule -> rule.at("/ports/0/port").asInt() == port)
              .toList();
      assertThat(rules).hasSize(1);
      assertThat(rules.get(0).at("/from/0/namespaceSelector/matchLabels").toString())
          .contains("csi-addons-system");
    }
    assertThat(Chart.rendered("", addons).of(List.of("NetworkPolicy"))).hasSize(1);
    assertThat(Chart.of("").of(List.of("NetworkPolicy"))).isEmpty();
    Map<String, Object> open = Map.of("csiAddons.enabled", true, "networkPolicy.enabled", false);
    assertThat(Chart.rendered("", open).of(List.of("NetworkPolicy"))).isEmpty();
  }

  /** Prometheus' operator looks for labels that this chart has, too; Services are found by them. */
  @Test
  void labelsOfTheUserReplaceTheChartsButForThoseThatAreSelected() {
    Chart chart = Chart.of("everything.yaml");
    for (JsonNode monitor : chart.of(List.of("ServiceMonitor", "PrometheusRule"))) {
      assertThat(monitor.at("/metadata/labels/release").asText()).isEqualTo("prometheus");
      assertThat(monitor.at("/metadata/labels/team").asText()).isEqualTo("storage");
    }
    for (JsonNode monitor : chart.of(List.of("ServiceMonitor"))) {
      JsonNode selector = monitor.at("/spec/selector/matchLabels");
      assertThat(selector.path("release").asText()).isEqualTo("ceph");
      JsonNode service = chart.find("Service", Chart.name(monitor)).orElseThrow();
      assertThat(has(service.at("/metadata/labels"), selector)).isTrue();
      assertThat(chart.workloads())
          .filteredOn(workload -> has(workload.at("/spec/template/metadata/labels"), selector))
          .hasSize(1);
    }
    JsonNode dashboard = chart.find("ConfigMap", "ceph-ceph-csi-java-dashboard").orElseThrow();
    assertThat(dashboard.at("/metadata/labels/app").asText()).isEqualTo("grafana");
    for (JsonNode workload : chart.workloads()) {
      JsonNode labels = workload.at("/spec/template/metadata/labels");
      assertThat(has(labels, workload.at("/spec/selector/matchLabels"))).isTrue();
      assertThat(labels.path("team").asText()).isEqualTo("storage");
    }
  }

  @Test
  void aServiceMonitorWithoutAServiceIsRefused() {
    Map<String, Object> none = new HashMap<>();
    none.put("serviceMonitor.enabled", true);
    none.put("nodeplugin.httpMetrics.service.enabled", false);
    assertThat(Chart.rendered("", none).of(List.of("ServiceMonitor"))).hasSize(1);
    none.put("provisioner.httpMetrics.enabled", false);
    assertThatThrownBy(() -> Chart.rendered("", none))
        .hasMessageContaining("serviceMonitor.enabled");
  }

  @Test
  void metricsOfSidecarsAreOpenAlsoWithoutThoseOfTheDriver() {
    Map<String, Object> values = new HashMap<>();
    values.put("networkPolicy.metricsFrom[0].podSelector.matchLabels.app", "prometheus");
    List<Integer> all = metricsPorts(values);
    assertThat(all).contains(8080, 8090, 8092, 8100, 8102);
    values.put("provisioner.httpMetrics.enabled", false);
    assertThat(metricsPorts(values))
        .containsExactlyElementsOf(all.stream().filter(port -> port != 8080).toList());
    values.put("provisioner.snapshotter.enabled", false);
    assertThat(metricsPorts(values)).doesNotContain(8092, 8102);
  }

  private static List<Integer> metricsPorts(Map<String, Object> values) {
    JsonNode policy =
        Chart.rendered("everything.yaml", values)
            .find("NetworkPolicy", "ceph-ceph-csi-java-provisioner")
            .orElseThrow();
    return list(policy.at("/spec/ingress")).stream()
        .filter(rule -> rule.path("from").toString().contains("prometheus"))
        .flatMap(rule -> list(rule.path("ports")).stream())
        .map(port -> port.path("port").asInt())
        .toList();
  }

  private static boolean has(JsonNode labels, JsonNode selector) {
    return selector.properties().stream()
        .allMatch(label -> label.getValue().equals(labels.path(label.getKey())));
  }
}
