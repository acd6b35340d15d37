package io.cephcsi.driver.chart;

import static io.cephcsi.driver.chart.Chart.containers;
import static io.cephcsi.driver.chart.Chart.driver;
import static io.cephcsi.driver.chart.Chart.kind;
import static io.cephcsi.driver.chart.Chart.list;
import static io.cephcsi.driver.chart.Chart.name;
import static io.cephcsi.driver.chart.Chart.texts;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.cephcsi.driver.docs.Documents;
import io.cephcsi.testing.Commands;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the chart renders fits together, and grants and asks for no more than is needed. */
@EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
class ChartTest {
  private static final String CASES = "io.cephcsi.driver.chart.Chart#cases";
  private static final Pattern METRIC = Pattern.compile("\\b(?:ceph_)?csi_[a-z_]+");

  /** Secrets that the values of {@link #CASES} name as there already. */
  private static final Set<String> GIVEN = Set.of("tls", "other", "rook-ceph-csi-config");

  /** What each sidecar asks the API for: group/resource, verbs. By their repositories' RBAC. */
  private static final Map<String, List<String>> NEEDS =
      Map.of(
          "csi-provisioner",
          List.of(
              "/secrets get",
              "/persistentvolumes get,list,watch,create,patch,delete",
              "/persistentvolumeclaims get,list,watch,update",
              "storage.k8s.io/storageclasses get,list,watch",
              "storage.k8s.io/csinodes get,list,watch",
              "storage.k8s.io/volumeattachments get,list,watch",
              "/nodes get,list,watch",
              "/events list,watch,create,update,patch",
              "snapshot.storage.k8s.io/volumesnapshots get,list,watch,update",
              "snapshot.storage.k8s.io/volumesnapshotcontents get,list",
              "coordination.k8s.io/leases get,watch,list,delete,update,create"),
          "csi-attacher",
          List.of(
              "/persistentvolumes get,list,watch,patch",
              "storage.k8s.io/csinodes get,list,watch",
              "storage.k8s.io/volumeattachments get,list,watch,patch",
              "storage.k8s.io/volumeattachments/status patch",
              "coordination.k8s.io/leases get,watch,list,delete,update,create"),
          "csi-resizer",
          List.of(
              "/secrets get",
              "/persistentvolumes get,list,watch,patch",
              "/persistentvolumeclaims get,list,watch",
              "/persistentvolumeclaims/status patch",
              "storage.k8s.io/volumeattributesclasses get,list,watch",
              "/events list,watch,create,update,patch",
              "coordination.k8s.io/leases get,watch,list,delete,update,create"),
          "csi-snapshotter",
          List.of(
              "/secrets get",
              "/events list,watch,create,update,patch",
              "snapshot.storage.k8s.io/volumesnapshotclasses get,list,watch",
              "snapshot.storage.k8s.io/volumesnapshotcontents get,list,watch,update,patch",
              "snapshot.storage.k8s.io/volumesnapshotcontents/status update,patch",
              "coordination.k8s.io/leases get,watch,list,delete,update,create"),
          "csi-addons",
          List.of(
              "csiaddons.openshift.io/csiaddonsnodes get,list,watch,create,update,delete",
              "/pods get",
              "apps/replicasets get",
              "/persistentvolumes get",
              "/secrets get",
              "authentication.k8s.io/tokenreviews create"),
          "csi-snapshot-metadata",
          List.of(
              "cbt.storage.k8s.io/snapshotmetadataservices get,list,watch",
              "authentication.k8s.io/tokenreviews create",
              "authorization.k8s.io/subjectaccessreviews create",
              "snapshot.storage.k8s.io/volumesnapshots get,list",
              "snapshot.storage.k8s.io/volumesnapshotcontents get,list",
              "/secrets get"));

  private static final List<String> GROUPS =
      List.of(
          "groupsnapshot.storage.k8s.io/volumegroupsnapshotclasses get,list,watch",
          "groupsnapshot.storage.k8s.io/volumegroupsnapshotcontents get,list,watch,update,patch",
          "groupsnapshot.storage.k8s.io/volumegroupsnapshotcontents/status update,patch",
          "snapshot.storage.k8s.io/volumesnapshotcontents create");

  @TempDir private Path folder;

  @ParameterizedTest
  @MethodSource(CASES)
  void whatIsMountedAndReferredToIsThere(String values) {
    Chart chart = Chart.of(values);
    boolean external = values.equals("external.yaml");
    for (JsonNode workload : chart.workloads()) {
      Set<String> volumes = new TreeSet<>();
      for (JsonNode volume : list(workload.at("/spec/template/spec/volumes"))) {
        assertThat(volumes.add(volume.path("name").asText())).isTrue();
        String map = volume.at("/configMap/name").asText();
        if (!map.isEmpty()) {
          assertThat(chart.find("ConfigMap", map)).as(map).isPresent();
        }
        String secret = volume.at("/secret/secretName").asText();
        assertThat(secret.isEmpty() || GIVEN.contains(secret)).as(secret).isTrue();
        for (JsonNode source : list(volume.at("/projected/sources"))) {
          haveItems(chart, source);
        }
      }
      Set<String> used = new TreeSet<>();
      for (JsonNode container : containers(workload)) {
        Set<String> places = new HashSet<>();
        for (JsonNode mount : list(container.path("volumeMounts"))) {
          used.add(mount.path("name").asText());
          assertThat(places.add(mount.path("mountPath").asText())).isTrue();
        }
      }
      assertThat(used).as("volumes of " + name(workload)).isEqualTo(volumes);
      String account = workload.at("/spec/template/spec/serviceAccountName").asText();
      assertThat(external || chart.find("ServiceAccount", account).isPresent()).isTrue();
    }
    for (JsonNode type : chart.objects()) {
      JsonNode parameters = type.path("parameters");
      parameters
          .fieldNames()
          .forEachRemaining(
              key -> {
                if (key.endsWith("-secret-name")) {
                  String secret = parameters.path(key).asText();
                  assertThat(chart.find("Secret", secret)).as(secret).isPresent();
                }
              });
    }
  }

  /** What the chart makes has the keys that are asked for; no pod waits for what others make. */
  private static void haveItems(Chart chart, JsonNode source) {
    for (String kind : List.of("ConfigMap", "Secret")) {
      JsonNode asked = source.path(kind.equals("Secret") ? "secret" : "configMap");
      String name = asked.path("name").asText();
      if (name.isEmpty() || GIVEN.contains(name)) {
        assertThat(!kind.equals("Secret") || name.isEmpty() || asked.path("optional").asBoolean())
            .as(name)
            .isTrue();
        continue;
      }
      JsonNode made = chart.find(kind, name).orElseThrow();
      for (JsonNode item : list(asked.path("items"))) {
        String key = item.path("key").asText();
        assertThat(made.path("data").has(key) || made.path("stringData").has(key))
            .as(name + " has " + key)
            .isTrue();
      }
    }
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void selectorsFindThePodsAndPortsAreListenedOn(String values) {
    Chart chart = Chart.of(values);
    for (JsonNode workload : chart.workloads()) {
      assertThat(covers(workload.at("/spec/selector/matchLabels"), pods(workload))).isTrue();
    }
    for (JsonNode object :
        chart.of(List.of("Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"))) {
      List<JsonNode> targets =
          kind(object).equals("ServiceMonitor") ? chart.of(List.of("Service")) : chart.workloads();
      JsonNode selector =
          switch (kind(object)) {
            case "Service" -> object.at("/spec/selector");
            case "NetworkPolicy" -> object.at("/spec/podSelector/matchLabels");
            default -> object.at("/spec/selector/matchLabels");
          };
      List<JsonNode> found =
          targets.stream().filter(target -> covers(selector, pods(target))).toList();
      assertThat(found).as(kind(object) + " " + name(object)).hasSize(1);
      if (kind(object).equals("Service")) {
        list(object.at("/spec/ports"))
            .forEach(
                port -> assertThat(ports(found.get(0))).contains(port.path("targetPort").asInt()));
      }
    }
    for (JsonNode workload : chart.workloads()) {
      Set<Integer> listening = new HashSet<>(ports(workload));
      for (JsonNode container : containers(workload)) {
        List<String> arguments = new ArrayList<>(texts(container.path("args")));
        if (container.path("name").asText().equals("csi-snapshot-metadata")
            && arguments.stream().noneMatch(one -> one.startsWith("--http-endpoint="))) {
          arguments.add("--http-endpoint=:8080"); // its default
        }
        for (String argument : arguments) {
          if (argument.matches("--(health-port|http-endpoint)=.*")) {
            int port = Integer.parseInt(argument.replaceAll(".*[=:]", ""));
            assertThat(listening.add(port)).as("port " + port + " is taken").isTrue();
          }
        }
      }
      for (String probe : List.of("startupProbe", "livenessProbe")) {
        JsonNode port = driver(workload).at("/" + probe + "/httpGet/port");
        assertThat(port.isMissingNode() || listening.contains(port.asInt())).isTrue();
      }
    }
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void theControllerHasNoRightsOnItsNode(String values) {
    JsonNode controller = Chart.of(values).of(List.of("Deployment")).get(0);
    JsonNode pod = controller.at("/spec/template/spec");
    JsonNode security = pod.path("securityContext");
    assertThat(security.path("runAsNonRoot").asBoolean()).isTrue();
    assertThat(security.path("runAsUser").asInt()).isPositive();
    assertThat(security.path("fsGroup").asInt()).isPositive(); // reads the credentials
    assertThat(security.at("/seccompProfile/type").asText()).isEqualTo("RuntimeDefault");
    assertThat(pod.has("hostPID")).isFalse();
    for (JsonNode container : containers(controller)) {
      JsonNode own = container.path("securityContext");
      assertThat(own.path("readOnlyRootFilesystem").asBoolean()).isTrue();
      assertThat(own.path("allowPrivilegeEscalation").asBoolean(true)).isFalse();
      assertThat(own.path("privileged").asBoolean()).isFalse();
      assertThat(texts(own.at("/capabilities/drop"))).containsExactly("ALL");
      assertThat(own.at("/capabilities/add").isMissingNode()).isTrue();
    }
    for (JsonNode volume : list(pod.path("volumes"))) {
      assertThat(volume.has("hostPath")).as(volume.path("name").asText()).isFalse();
    }
    assertThat(list(driver(controller).path("volumeMounts")))
        .anyMatch(mount -> mount.path("mountPath").asText().equals("/tmp")); // JNA, Netty
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void theNodeMountsWhereKubeletSeesIt(String values) {
    JsonNode node = Chart.of(values).of(List.of("DaemonSet")).get(0);
    assertThat(driver(node).at("/securityContext/privileged").asBoolean()).isTrue();
    assertThat(node.at("/spec/template/spec/hostNetwork").asBoolean()).isTrue();
    assertThat(node.at("/spec/template/spec/hostPID").asBoolean()).isTrue();
    String kubelet = values.equals("external.yaml") ? "/data/kubelet" : "/var/lib/kubelet";
    for (String path : List.of(kubelet + "/plugins", kubelet + "/pods", "/run/ceph-csi")) {
      JsonNode mount =
          list(driver(node).path("volumeMounts")).stream()
              .filter(one -> one.path("mountPath").asText().equals(path))
              .findFirst()
              .orElseThrow();
      assertThat(mount.path("mountPropagation").asText()).isEqualTo("Bidirectional");
      assertThat(list(node.at("/spec/template/spec/volumes")))
          .anyMatch(
              volume ->
                  volume.path("name").equals(mount.path("name"))
                      && volume.at("/hostPath/path").asText().equals(path));
    }
    // For the cgroup of processes that serve volumes.
    assertThat(list(driver(node).path("volumeMounts")))
        .anyMatch(
            one ->
                one.path("mountPath").asText().equals("/sys") && !one.path("readOnly").asBoolean());
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void rolesHaveWhatSidecarsNeedAndNoMoreOfSecrets(String values) {
    Chart chart = Chart.of(values);
    for (JsonNode workload : chart.workloads()) {
      Map<String, Set<String>> granted =
          chart.of(List.of("ClusterRole", "Role")).stream()
              .filter(role -> name(role).equals(name(workload)))
              .flatMap(role -> list(role.path("rules")).stream())
              .flatMap(ChartTest::grants)
              .collect(
                  Collectors.groupingBy(
                      grant -> grant.get(0),
                      Collectors.mapping(grant -> grant.get(1), Collectors.toSet())));
      for (JsonNode container : containers(workload)) {
        String sidecar = container.path("name").asText().replaceAll("-cephfs$", "");
        boolean groups = texts(container.path("args")).toString().contains("VolumeGroupSnapshot");
        Stream.concat(
                NEEDS.getOrDefault(sidecar, List.of()).stream(),
                groups ? GROUPS.stream() : Stream.of())
            .map(need -> need.split(" ", 2))
            .forEach(
                need ->
                    assertThat(granted.getOrDefault(need[0], Set.of()))
                        .as(sidecar + " needs " + need[0])
                        .containsAll(Arrays.asList(need[1].split(",", -1))));
      }
      assertThat(granted.getOrDefault("/secrets", Set.of())).isSubsetOf("get");
      assertThat(granted.toString()).doesNotContain("*");
      boolean token =
          workload.at("/spec/template/spec/automountServiceAccountToken").asBoolean(true);
      assertThat(token || granted.isEmpty()).as(name(workload) + " has a token").isTrue();
    }
    Set<String> subjects =
        chart.of(List.of("ClusterRoleBinding", "RoleBinding")).stream()
            .flatMap(binding -> list(binding.path("subjects")).stream())
            .map(subject -> subject.path("name").asText())
            .collect(Collectors.toSet());
    Set<String> accounts =
        chart.workloads().stream()
            .map(workload -> workload.at("/spec/template/spec/serviceAccountName").asText())
            .collect(Collectors.toSet());
    assertThat(accounts).containsAll(subjects);
  }

  @Test
  void aNodeThatReadsItsLabelsMayDoSo() {
    for (String values : List.of("everything.yaml", "ceph-csi-rbd.yaml", "")) {
      Chart chart = Chart.of(values);
      JsonNode node = chart.of(List.of("DaemonSet")).get(0);
      boolean may =
          chart.find("ClusterRole", name(node)).stream()
              .flatMap(role -> list(role.path("rules")).stream())
              .flatMap(ChartTest::grants)
              .anyMatch(grant -> grant.equals(List.of("/nodes", "get")));
      assertThat(may).isEqualTo(!values.isEmpty());
      assertThat(node.at("/spec/template/spec/automountServiceAccountToken").asBoolean())
          .isEqualTo(may);
    }
  }

  /** A class that another version has made cannot be given other parameters: the upgrade fails. */
  @Test
  void aNodeGetsTheSecretToExpandVolumesOnlyIfTheValuesNameOne() {
    String secret = "csi.storage.k8s.io/node-expand-secret-";
    for (String values : List.of("ceph-csi-rbd.yaml", "everything.yaml")) {
      for (String expand : List.of("", "csi-rbd-secret")) {
        Map<String, Object> set = new HashMap<>(Map.of("storageClass.create", true));
        if (!expand.isEmpty()) {
          set.put("storageClass.nodeExpandSecret", expand);
        }
        JsonNode parameters =
            Chart.rendered(values, set)
                .find("StorageClass", "csi-rbd-sc")
                .orElseThrow()
                .path("parameters");
        assertThat(parameters.has("csi.storage.k8s.io/node-stage-secret-name")).isTrue();
        assertThat(parameters.path(secret + "name").asText()).isEqualTo(expand);
        assertThat(parameters.path(secret + "namespace").asText())
            .isEqualTo(expand.isEmpty() ? "" : Chart.NAMESPACE);
      }
    }
  }

  @Test
  void sidecarsAreAskedForByReplicasThatTakeTurns() {
    for (String values : List.of("", "everything.yaml")) {
      JsonNode controller = Chart.of(values).of(List.of("Deployment")).get(0);
      assertThat(controller.at("/spec/replicas").asInt()).isEqualTo(2);
      for (JsonNode container : containers(controller)) {
        if (container.path("name").asText().matches("csi-(pro|att|res|snapshotter).*")) {
          assertThat(texts(container.path("args"))).contains("--leader-election=true");
        }
      }
    }
  }

  @Test
  void optionsOfTheJvmReachTheDriversOnly() {
    Map<String, Object> values = Map.of("javaOptions", "-Xmx256m -Xlog:gc");
    for (JsonNode workload : Chart.rendered("", values).workloads()) {
      for (JsonNode container : containers(workload)) {
        List<String> options =
            list(container.path("env")).stream()
                .filter(variable -> variable.path("name").asText().equals("CEPH_CSI_JAVA_OPTS"))
                .map(variable -> variable.path("value").asText())
                .toList();
        if (container.equals(driver(workload))) {
          assertThat(options).containsExactly("-Xmx256m -Xlog:gc");
        } else {
          assertThat(options).isEmpty();
        }
      }
    }
    assertThat(Chart.of("").workloads()).isNotEmpty().noneMatch(ChartTest::hasJavaOptions);
  }

  @Test
  void theControllerRecordsWhatItDoesWhenAsked() {
    Chart asked = Chart.rendered("", Map.of("profile", true));
    for (JsonNode workload : asked.workloads()) {
      assertThat(driver(workload).path("env").toString().contains("CEPH_CSI_PROFILE"))
          .isEqualTo(kind(workload).equals("Deployment"));
    }
    assertThat(asked.workloads()).anyMatch(workload -> kind(workload).equals("Deployment"));
    assertThat(Chart.of("").workloads()).noneMatch(w -> w.toString().contains("CSI_PROFILE"));
  }

  private static boolean hasJavaOptions(JsonNode workload) {
    return workload.toString().contains("JAVA_OPTS");
  }

  @Test
  void imagesHaveVersions() {
    for (JsonNode workload : Chart.of("everything.yaml").workloads()) {
      for (JsonNode container : containers(workload)) {
        assertThat(container.path("image").asText()).matches(".+:v?\\d+\\.\\d+\\.\\d+");
      }
    }
  }

  @Test
  void metricsOfRulesAndDashboardAreThoseOfTheReference() {
    Chart chart = Chart.of("everything.yaml");
    Documents reference = Documents.below("docs/reference");
    for (JsonNode object :
        List.of(
            chart.find("PrometheusRule", "ceph-ceph-csi-java").orElseThrow(),
            chart.find("ConfigMap", "ceph-ceph-csi-java-dashboard").orElseThrow())) {
      Set<String> metrics =
          METRIC
              .matcher(object.toString())
              .results()
              .map(found -> found.group().replaceAll("_seconds_(bucket|count|sum)$", "_seconds"))
              .collect(Collectors.toSet());
      assertThat(metrics).hasSizeGreaterThan(2).allMatch(reference::hasWord);
    }
  }

  @Test
  void theDashboardIsJson() throws Exception {
    JsonNode map =
        Chart.of("everything.yaml").find("ConfigMap", "ceph-ceph-csi-java-dashboard").orElseThrow();
    JsonNode dashboard = new YAMLMapper().readTree(map.at("/data/ceph-csi-java.json").asText());
    assertThat(list(dashboard.path("panels"))).hasSizeGreaterThan(5);
  }

  @Test
  void promtoolTakesTheRules() throws Exception {
    JsonNode rule =
        Chart.of("everything.yaml").find("PrometheusRule", "ceph-ceph-csi-java").orElseThrow();
    Path file = folder.resolve("rules.yaml");
    new YAMLMapper().writeValue(file.toFile(), rule.path("spec"));
    assertThat(Commands.run(List.of("promtool", "check", "rules", file.toString())))
        .contains("5 rules found");
  }

  private static Stream<List<String>> grants(JsonNode rule) {
    return texts(rule.path("apiGroups")).stream()
        .flatMap(
            group ->
                texts(rule.path("resources")).stream()
                    .flatMap(
                        resource ->
                            texts(rule.path("verbs")).stream()
                                .map(verb -> List.of(group + "/" + resource, verb))));
  }

  /** The labels of a workload's pods, or of a Service. */
  private static JsonNode pods(JsonNode object) {
    return object.at(
        kind(object).equals("Service") ? "/metadata/labels" : "/spec/template/metadata/labels");
  }

  static List<Integer> ports(JsonNode workload) {
    return containers(workload).stream()
        .flatMap(container -> list(container.path("ports")).stream())
        .map(port -> port.path("containerPort").asInt())
        .toList();
  }

  private static boolean covers(JsonNode selector, JsonNode labels) {
    return !selector.isEmpty()
        && selector.propertyStream().allMatch(e -> e.getValue().equals(labels.path(e.getKey())));
  }
}
