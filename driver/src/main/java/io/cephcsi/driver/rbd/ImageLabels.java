package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageMetadata;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the Kubernetes names of a volume or snapshot into the metadata of its image, where the
 * configuration asks for it.
 *
 * @param enabled whether anything is written
 * @param clusterName the Kubernetes cluster; empty for none
 */
public record ImageLabels(boolean enabled, String clusterName) {
  /** Writes nothing. */
  public static final ImageLabels NONE = new ImageLabels(false, "");

  private static final String CLUSTER = "csi.ceph.com/cluster/name";
  private static final List<String> KEYS =
      List.of(
          "csi.storage.k8s.io/pvc/name",
          "csi.storage.k8s.io/pvc/namespace",
          "csi.storage.k8s.io/pv/name",
          "csi.storage.k8s.io/volumesnapshot/name",
          "csi.storage.k8s.io/volumesnapshot/namespace",
          "csi.storage.k8s.io/volumesnapshotcontent/name");

  /** Those of a request's parameters that are names for labels. */
  static Map<String, String> of(Map<String, String> parameters) {
    Map<String, String> labels = new LinkedHashMap<>();
    for (String key : KEYS) {
      String value = parameters.get(key);
      if (value != null && !value.isEmpty()) {
        labels.put(key, value);
      }
    }
    return labels;
  }

  /** Opens an image and writes its labels. */
  void write(RbdPool pool, String image, Map<String, String> labels) {
    if (enabled) {
      try (RbdImage open = pool.open(image)) {
        write(open, labels);
      }
    }
  }

  /** Writes labels, and takes away those that a clone inherited from its source. */
  void write(RbdImage image, Map<String, String> labels) {
    if (!enabled) {
      return;
    }
    Map<String, String> wanted = new LinkedHashMap<>(labels);
    if (!clusterName.isEmpty()) {
      wanted.put(CLUSTER, clusterName);
    }
    ImageMetadata metadata = image.metadata();
    Map<String, String> present = metadata.list();
    for (String key : KEYS) {
      if (present.containsKey(key) && !wanted.containsKey(key)) {
        remove(metadata, key);
      }
    }
    wanted.forEach(
        (key, value) -> {
          if (!value.equals(present.get(key))) {
            metadata.set(key, value);
          }
        });
  }

  private static void remove(ImageMetadata metadata, String key) {
    try {
      metadata.remove(key);
    } catch (CephException.NotFound e) {
      return; // somebody else was faster
    }
  }
}
