package io.cephcsi.driver.docs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.driver.cephfs.CephFsParameters;
import io.cephcsi.driver.node.cephfs.CephFsOptions;
import io.cephcsi.driver.node.rbd.RbdOptions;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.rbd.volume.MutableParameters;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.volume.StaticVolume;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The examples in deploy/examples are what the driver accepts, and refer to each other. */
class ExamplesTest {
  private static final Path FOLDER = Path.of("deploy/examples");
  private static final String RBD = "rbd.csi.ceph.com";
  private static final String CEPHFS = "cephfs.csi.ceph.com";
  private static final String SIDECARS = "csi.storage.k8s.io/";

  /** Objects by "Kind/name". */
  private static final Map<String, JsonNode> OBJECTS = new TreeMap<>();

  @BeforeAll
  static void read() throws IOException {
    JsonMapper mapper =
        JsonMapper.builder(new YAMLFactory())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    for (Path file : Documents.files(FOLDER, ".yaml")) {
      try (var documents = mapper.readerFor(JsonNode.class).<JsonNode>readValues(file.toFile())) {
        while (documents.hasNext()) {
          JsonNode object = documents.next();
          assertThat(object.path("apiVersion").asText()).as(file.toString()).isNotEmpty();
          String name = object.path("kind").asText() + "/" + object.at("/metadata/name").asText();
          assertThat(OBJECTS.put(name, object)).as(name + " is there twice").isNull();
        }
      }
    }
  }

  @Test
  void theDriversParsersTakeTheParameters() {
    for (JsonNode type : of("StorageClass")) {
      Map<String, String> parameters = texts(type.path("parameters"));
      if (type.path("provisioner").asText().equals(RBD)) {
        RbdParameters.parse(parameters);
        TopologyPools.parse(parameters);
        RbdOptions.require(parameters);
        ReclaimPlan.parse(parameters);
        requireKnown(parameters, AskedKeys.ofRbdVolumes(), Set.of("mounter", "tryOtherMounters"));
      } else {
        assertThat(type.path("provisioner").asText()).isEqualTo(CEPHFS);
        CephFsParameters.parse(parameters);
        CephFsOptions.requireAll(parameters);
        Set<String> known = AskedKeys.of(CephFsParameters::parse, AskedKeys.CEPHFS);
        known.addAll(AskedKeys.of(AskedKeys.asParser(CephFsOptions::requireAll), Map.of()));
        requireKnown(parameters, known, Set.of("mounter"));
      }
    }
    for (String kind : List.of("VolumeSnapshotClass", "VolumeGroupSnapshotClass")) {
      for (JsonNode type : of(kind)) {
        Map<String, String> parameters = texts(type.path("parameters"));
        if (type.path("driver").asText().equals(RBD)) {
          SnapshotParameters.parse(parameters);
          requireKnown(parameters, AskedKeys.ofRbdSnapshots(), Set.of());
        } else {
          assertThat(type.path("driver").asText()).isEqualTo(CEPHFS);
          CephFsParameters.snapshotPrefix(parameters);
          requireKnown(parameters, Set.of("clusterID", "snapshotNamePrefix"), Set.of());
        }
      }
    }
    for (JsonNode type : of("VolumeAttributesClass")) {
      assertThat(type.path("driverName").asText()).isEqualTo(RBD);
      assertThat(MutableParameters.parse(texts(type.path("parameters"))).metadata()).isNotEmpty();
    }
    for (JsonNode volume : of("PersistentVolume")) {
      assertThat(volume.at("/spec/csi/driver").asText()).isEqualTo(RBD);
      Map<String, String> context = texts(volume.at("/spec/csi/volumeAttributes"));
      String handle = volume.at("/spec/csi/volumeHandle").asText();
      StaticImage.of(StaticVolume.of(handle, context).orElseThrow());
    }
  }

  private static void requireKnown(
      Map<String, String> parameters, Set<String> asked, Set<String> ofNodes) {
    Set<String> keys = new TreeSet<>(parameters.keySet());
    keys.removeIf(key -> key.startsWith(SIDECARS) || key.startsWith("reclaim."));
    keys.removeAll(asked);
    keys.removeAll(ofNodes);
    assertThat(keys).as("parameters that the driver ignores").isEmpty();
  }

  @Test
  void namesReferToObjectsThatAreThere() {
    Set<String> missing = new TreeSet<>();
    OBJECTS.forEach(
        (name, object) -> {
          for (String target : references(object)) {
            if (!OBJECTS.containsKey(target)) {
              missing.add(name + " refers to " + target);
            }
          }
        });
    assertThat(missing).isEmpty();
    assertThat(of("PersistentVolumeClaim")).hasSizeGreaterThan(5); // not vacuous
    assertThat(references(OBJECTS.get("StorageClass/csi-rbd-sc"))).hasSize(4);
  }

  /** What an object refers to, as "Kind/name". */
  private static List<String> references(JsonNode object) {
    List<String> all = new ArrayList<>();
    add(all, "StorageClass", object.at("/spec/storageClassName"));
    add(all, "VolumeAttributesClass", object.at("/spec/volumeAttributesClassName"));
    add(all, "VolumeSnapshotClass", object.at("/spec/volumeSnapshotClassName"));
    add(all, "VolumeGroupSnapshotClass", object.at("/spec/volumeGroupSnapshotClassName"));
    add(all, "PersistentVolume", object.at("/spec/volumeName"));
    add(all, object.at("/spec/dataSource/kind").asText(), object.at("/spec/dataSource/name"));
    add(all, "Secret", object.at("/spec/csi/nodeStageSecretRef/name"));
    for (String claim :
        List.of(
            "/spec/source/persistentVolumeClaimName",
            "/spec/target/persistentVolumeClaim",
            "/spec/jobTemplate/spec/target/persistentVolumeClaim")) {
      add(all, "PersistentVolumeClaim", object.at(claim));
    }
    object
        .at("/spec/volumes")
        .forEach(v -> add(all, "PersistentVolumeClaim", v.at("/persistentVolumeClaim/claimName")));
    texts(object.path("parameters"))
        .forEach(
            (key, value) -> {
              if (key.startsWith(SIDECARS) && key.endsWith("-secret-name")) {
                all.add("Secret/" + value);
              }
            });
    return all;
  }

  private static void add(List<String> all, String kind, JsonNode name) {
    if (!name.asText().isEmpty()) {
      all.add(kind + "/" + name.asText());
    }
  }

  @Test
  void claimsFitTheirClassesAndSources() {
    for (JsonNode claim : of("PersistentVolumeClaim")) {
      String type = claim.at("/spec/storageClassName").asText();
      String driver = OBJECTS.get("StorageClass/" + type) == null ? "" : driverOf(claim);
      JsonNode source = claim.at("/spec/dataSource");
      if (source.path("kind").asText().equals("PersistentVolumeClaim")) {
        JsonNode from = OBJECTS.get("PersistentVolumeClaim/" + source.path("name").asText());
        assertThat(driverOf(from)).isEqualTo(driver);
      } else if (!source.isMissingNode()) {
        JsonNode snapshot = OBJECTS.get("VolumeSnapshot/" + source.path("name").asText());
        String snapshotType = snapshot.at("/spec/volumeSnapshotClassName").asText();
        assertThat(OBJECTS.get("VolumeSnapshotClass/" + snapshotType).path("driver").asText())
            .isEqualTo(driver);
      }
    }
    for (JsonNode group : of("VolumeGroupSnapshot")) {
      JsonNode labels = group.at("/spec/source/selector/matchLabels");
      assertThat(of("PersistentVolumeClaim"))
          .filteredOn(claim -> claim.at("/metadata/labels").equals(labels))
          .hasSizeGreaterThan(1);
    }
  }

  private static String driverOf(JsonNode claim) {
    String type = claim.at("/spec/storageClassName").asText();
    return OBJECTS.get("StorageClass/" + type).path("provisioner").asText();
  }

  @Test
  void secretsAreTemplatesInTheNamespaceThatClassesName() {
    for (JsonNode secret : of("Secret")) {
      Map<String, String> data = texts(secret.path("stringData"));
      assertThat(data).containsOnlyKeys("userID", "userKey");
      assertThat(data.get("userKey")).isEqualTo("<key of client." + data.get("userID") + ">");
    }
    OBJECTS.forEach(
        (name, object) -> {
          Map<String, String> parameters = texts(object.path("parameters"));
          parameters.forEach(
              (key, value) -> {
                if (key.startsWith(SIDECARS) && key.endsWith("-secret-name")) {
                  String namespace = key.replace("-secret-name", "-secret-namespace");
                  assertThat(OBJECTS.get("Secret/" + value).at("/metadata/namespace").asText())
                      .as(name)
                      .isEqualTo(parameters.get(namespace));
                }
              });
        });
  }

  private static List<JsonNode> of(String kind) {
    List<JsonNode> all =
        OBJECTS.values().stream().filter(o -> o.path("kind").asText().equals(kind)).toList();
    assertThat(all).as(kind).isNotEmpty();
    return all;
  }

  private static Map<String, String> texts(JsonNode map) {
    Map<String, String> texts = new LinkedHashMap<>();
    Iterable<String> names = map::fieldNames;
    StreamSupport.stream(names.spliterator(), false)
        .forEach(
            name -> {
              assertThat(map.path(name).isTextual()).as(name + " is text").isTrue();
              texts.put(name, map.path(name).asText());
            });
    return texts;
  }
}
