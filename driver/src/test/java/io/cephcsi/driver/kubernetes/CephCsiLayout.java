package io.cephcsi.driver.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A deployment in the layout of ceph-csi, in the namespace of the chart's release: its names,
 * objects and arguments, and the classes and secrets that users have. The image is this driver's,
 * which takes these arguments.
 */
final class CephCsiLayout {
  private static final YAMLMapper YAML = new YAMLMapper();
  private static final Path RESOURCES = Path.of("src/test/resources/kubernetes");

  private final JsonNode chart;
  private final ObjectNode values;

  CephCsiLayout() throws IOException {
    chart = YAML.readTree(Path.of("deploy/charts/ceph-csi-java/values.yaml").toFile());
    values = (ObjectNode) YAML.readTree(Kubernetes.folder().resolve("values.yaml").toFile());
  }

  /** Writes ceph-csi.yaml, classes.yaml, and a values.yaml for a chart that makes no classes. */
  void write(Path folder) throws IOException {
    for (String file : new String[] {"ceph-csi.yaml", "classes.yaml"}) {
      Files.writeString(folder.resolve(file), filled(Files.readString(RESOURCES.resolve(file))));
    }
    ObjectNode own = values.deepCopy();
    for (JsonNode driver : new JsonNode[] {own, own.path("cephfs")}) {
      for (String object : new String[] {"storageClass", "secret", "snapshotClass"}) {
        ((ObjectNode) driver.path(object)).put("create", false);
      }
    }
    own.putObject("encryptionKMSConfig")
        .putObject("kept-by-a-secret")
        .put("encryptionKMSType", "metadata")
        .put("secretName", "storage-encryption");
    YAML.writeValue(folder.resolve("values.yaml").toFile(), own);
  }

  private String filled(String text) {
    JsonNode image = values.path("image");
    JsonNode cluster = values.at("/csiConfig/0");
    return text.replace("CEPHFS_KEY", values.at("/cephfs/secret/userKey").asText())
        .replace("RBD_KEY", values.at("/secret/userKey").asText())
        .replace("CLUSTER", cluster.path("clusterID").asText())
        .replace("MONITORS", cluster.at("/monitors/0").asText())
        .replace("IMAGE", image.path("repository").asText() + ":" + image.path("tag").asText())
        .replace("KUBELET", setting("/kubeletDir"))
        .replace("NODE_FOLDER", setting("/nodeplugin/nodeFolder"))
        .replace("PROVISIONER", tag("provisioner/provisioner"))
        .replace("RESIZER", tag("provisioner/resizer"))
        .replace("SNAPSHOTTER", tag("provisioner/snapshotter"))
        .replace("ATTACHER", tag("provisioner/attacher"))
        .replace("REGISTRAR", tag("nodeplugin/registrar"));
  }

  private String setting(String pointer) {
    JsonNode own = values.at(pointer);
    return (own.isMissingNode() ? chart.at(pointer) : own).asText();
  }

  private String tag(String sidecar) {
    return chart.at("/" + sidecar + "/image/tag").asText();
  }
}
