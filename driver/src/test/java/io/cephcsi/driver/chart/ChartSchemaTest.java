package io.cephcsi.driver.chart;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.marcnuri.helm.LintResult;
import io.cephcsi.driver.cephfs.CephFsParameters;
import io.cephcsi.driver.docs.AskedKeys;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.driver.rbd.volume.MutableParameters;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.api.model.rbac.ClusterRole;
import io.fabric8.kubernetes.api.model.rbac.ClusterRoleBinding;
import io.fabric8.kubernetes.api.model.rbac.Role;
import io.fabric8.kubernetes.api.model.rbac.RoleBinding;
import io.fabric8.kubernetes.api.model.storage.CSIDriver;
import io.fabric8.kubernetes.api.model.storage.StorageClass;
import io.fabric8.kubernetes.api.model.storage.VolumeAttributesClass;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What the chart renders has the fields of Kubernetes' schemas and parameters of this driver. */
@EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
class ChartSchemaTest {
  private static final String CASES = "io.cephcsi.driver.chart.Chart#cases";
  private static final String SIDECARS = "csi.storage.k8s.io/";

  private static final Map<String, Class<?>> MODEL =
      Map.ofEntries(
          entry("v1/ConfigMap", ConfigMap.class),
          entry("v1/Secret", Secret.class),
          entry("v1/Service", Service.class),
          entry("v1/ServiceAccount", ServiceAccount.class),
          entry("apps/v1/DaemonSet", DaemonSet.class),
          entry("apps/v1/Deployment", Deployment.class),
          entry("networking.k8s.io/v1/NetworkPolicy", NetworkPolicy.class),
          entry("policy/v1/PodDisruptionBudget", PodDisruptionBudget.class),
          entry("rbac.authorization.k8s.io/v1/ClusterRole", ClusterRole.class),
          entry("rbac.authorization.k8s.io/v1/ClusterRoleBinding", ClusterRoleBinding.class),
          entry("rbac.authorization.k8s.io/v1/Role", Role.class),
          entry("rbac.authorization.k8s.io/v1/RoleBinding", RoleBinding.class),
          entry("storage.k8s.io/v1/CSIDriver", CSIDriver.class),
          entry("storage.k8s.io/v1/StorageClass", StorageClass.class),
          entry("storage.k8s.io/v1/VolumeAttributesClass", VolumeAttributesClass.class),
          entry("monitoring.coreos.com/v1/PrometheusRule", PrometheusRule.class),
          entry("monitoring.coreos.com/v1/ServiceMonitor", ServiceMonitor.class));

  /** Objects that the model has not: their fields besides apiVersion, kind and metadata. */
  private static final Map<String, Set<String>> FIELDS =
      Map.of(
          "snapshot.storage.k8s.io/v1/VolumeSnapshotClass",
          Set.of("driver", "parameters", "deletionPolicy"),
          "groupsnapshot.storage.k8s.io/v1beta2/VolumeGroupSnapshotClass",
          Set.of("driver", "parameters", "deletionPolicy"),
          "cbt.storage.k8s.io/v1beta1/SnapshotMetadataService",
          Set.of("spec"),
          "csiaddons.openshift.io/v1alpha1/ReclaimSpaceCronJob",
          Set.of("spec"));

  /** The model keeps unknown fields for who wants them; here they are errors. */
  private static final JsonMapper STRICT =
      JsonMapper.builder()
          .annotationIntrospector(
              new JacksonAnnotationIntrospector() {
                private static final long serialVersionUID = 1L;

                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                  return false;
                }
              })
          .build();

  @Test
  void helmHasNothingToSayAgainstIt() {
    LintResult result = Chart.lint();
    assertThat(result.isFailed()).as(result.getMessages().toString()).isFalse();
    assertThat(result.getMessages()).noneMatch(message -> message.contains("WARNING"));
  }

  @Test
  void aFieldThatKubernetesDoesNotKnowIsFound() throws Exception {
    JsonNode wrong =
        STRICT.readTree("{\"spec\": {\"template\": {\"spec\": {\"hostNetwerk\": 1}}}}");
    assertThatThrownBy(() -> STRICT.treeToValue(wrong, Deployment.class))
        .hasMessageContaining("hostNetwerk");
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void objectsHaveTheFieldsOfTheirSchemas(String values) throws Exception {
    Chart chart = Chart.of(values);
    Set<String> names = new HashSet<>();
    for (JsonNode object : chart.objects()) {
      String type = object.path("apiVersion").asText() + "/" + Chart.kind(object);
      String name = type + " " + Chart.name(object);
      assertThat(names.add(name)).as(name + " is there once").isTrue();
      if (FIELDS.containsKey(type)) {
        Set<String> fields = new TreeSet<>();
        object.fieldNames().forEachRemaining(fields::add);
        fields.removeAll(Set.of("apiVersion", "kind", "metadata"));
        assertThat(FIELDS.get(type)).as(name).containsAll(fields);
      } else {
        assertThat(MODEL).containsKey(type);
        assertThat(STRICT.treeToValue(object, MODEL.get(type))).as(name).isNotNull();
      }
      boolean namespaced = object.at("/metadata/namespace").isTextual();
      boolean global = type.contains("Cluster") || type.contains("CSIDriver");
      assertThat(namespaced && global).as(name).isFalse();
    }
    assertThat(chart.workloads()).hasSize(2);
  }

  @Test
  void everyKindIsRenderedByTheFullestValues() {
    Set<String> kinds = new TreeSet<>();
    for (JsonNode object : Chart.of("everything.yaml").objects()) {
      kinds.add(object.path("apiVersion").asText() + "/" + Chart.kind(object));
    }
    assertThat(kinds).containsAll(MODEL.keySet()).containsAll(FIELDS.keySet());
  }

  @ParameterizedTest
  @MethodSource(CASES)
  void parametersOfClassesAreThoseOfTheDriver(String values) {
    Chart chart = Chart.of(values);
    for (JsonNode type : chart.of(List.of("StorageClass"))) {
      Map<String, String> parameters = texts(type.path("parameters"));
      Set<String> known;
      if (parameters.containsKey("fsName")) {
        CephFsParameters.parse(parameters);
        known = AskedKeys.of(CephFsParameters::parse, AskedKeys.CEPHFS);
      } else {
        RbdParameters.parse(parameters);
        TopologyPools.parse(parameters);
        known = AskedKeys.ofRbdVolumes();
      }
      Set<String> unknown = new TreeSet<>(parameters.keySet());
      unknown.removeIf(key -> key.startsWith(SIDECARS) || key.startsWith("reclaim."));
      unknown.removeAll(known);
      unknown.removeAll(Set.of("mounter", "tryOtherMounters"));
      assertThat(unknown).as(Chart.name(type)).isEmpty();
    }
    for (JsonNode type : chart.of(List.of("VolumeSnapshotClass"))) {
      SnapshotParameters.parse(texts(type.path("parameters")));
    }
    for (JsonNode type : chart.of(List.of("VolumeGroupSnapshotClass"))) {
      Map<String, String> parameters = texts(type.path("parameters"));
      if (!parameters.containsKey("fsName")) {
        GroupParameters.parse(parameters);
      }
      for (String key : List.of("name", "namespace")) {
        String secret = parameters.get(SIDECARS + "group-snapshotter-secret-" + key);
        assertThat(secret).isNotEmpty();
        assertThat(parameters)
            .containsEntry(SIDECARS + "group-snapshotter-get-secret-" + key, secret);
      }
    }
    for (JsonNode type : chart.of(List.of("VolumeAttributesClass"))) {
      assertThat(MutableParameters.parse(texts(type.path("parameters"))).metadata()).isNotEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "provisioner.replicaCount, two, /provisioner/replicaCount",
    "driverName, a_b, /driverName",
    "type, nfs, /type",
    "javaOptions, -Dname=$(NODE_ID), /javaOptions",
    "credentials[0].cluster, x, cluster",
    "cephfs.instanceId, x, instanceId",
    "csiConfig[0].clusterID, x, monitors",
    "csiMapping[0].ClusterIDMapping, x, ClusterIDMapping",
    "encryptionKMSConfig.vault, x, encryptionKMSConfig",
    "provisioner.snapshotMetadata.enabled, true, provisioner.snapshotMetadata",
    "secret.create, true, userKey",
    "secret.adminID, admin, driverName",
    "storageClass.fsName, myfs, driverName",
    "radosNamespaceCephFS, csi, driverName"
  })
  void whatCannotBeServedIsRefused(String key, String value, String message) {
    Object set = value.equals("true") ? true : value;
    assertThatThrownBy(() -> Chart.rendered("", Map.of(key, set))).hasMessageContaining(message);
  }

  /** The name is a default of ceph-csi's chart, which {@code helm get values} does not show. */
  @Test
  void valuesOfCephFsWithoutTheDriversNameMakeNoDriverForRbd(@TempDir Path folder)
      throws IOException {
    String values = Files.readString(Chart.VALUES.resolve("ceph-csi-cephfs.yaml"));
    String name = "driverName: cephfs.csi.ceph.com\n";
    assertThat(values).contains(name);
    Path file = Files.writeString(folder.resolve("values.yaml"), values.replace(name, ""));
    assertThatThrownBy(() -> Chart.rendered(file, "ceph", Map.of()))
        .hasMessageContaining("is one for RBD: set driverName");
    assertThat(
            Chart.rendered(file, "ceph", Map.of("driverName", "cephfs.csi.ceph.com")).workloads())
        .hasSize(2);
    assertThat(Chart.rendered(file, "ceph", Map.of("type", "rbd")).workloads()).hasSize(2);
  }

  /** The versions of an API are those of a cluster: without one, others stand for them. */
  @Test
  void groupSnapshotsWithOlderCrdsAreRefused(@TempDir Path folder) throws IOException {
    Map<String, Object> groups =
        Map.of("provisioner.snapshotter.args.enableVolumeGroupSnapshots", true);
    Map<String, Object> older =
        Map.of(
            "provisioner.snapshotter.args.enableVolumeGroupSnapshots",
            true,
            "provisioner.snapshotter.image.tag",
            "v8.5.0");
    Chart.copy(folder);
    Path helpers = folder.resolve("templates/_helpers.tpl");
    String text = Files.readString(helpers);
    String old = text.replace("groupsnapshot.storage.k8s.io/v1beta2", "apps/v1");
    Files.writeString(helpers, old);
    assertThatThrownBy(() -> Chart.rendered(folder, groups))
        .hasMessageContaining("needs the CRDs of group snapshots in the version v1");
    assertThat(Chart.rendered(folder, older).workloads()).hasSize(2);
    assertThat(Chart.rendered(folder, Map.of()).workloads()).hasSize(2);
    Files.writeString(helpers, old.replace("groupsnapshot.storage.k8s.io/v1\"", "batch/v1\""));
    assertThat(Chart.rendered(folder, groups).workloads()).hasSize(2);
  }

  @Test
  void aSecondDriverBesideOneForCephFsIsRefused() {
    assertThatThrownBy(() -> Chart.rendered("external.yaml", Map.of("cephfs.enabled", true)))
        .hasMessageContaining("cephfs.enabled");
  }

  private static Map<String, String> texts(JsonNode map) {
    Map<String, String> texts = new LinkedHashMap<>();
    map.fieldNames()
        .forEachRemaining(
            name -> {
              assertThat(map.path(name).isTextual()).as(name + " is text").isTrue();
              texts.put(name, map.path(name).asText());
            });
    return texts;
  }
}
