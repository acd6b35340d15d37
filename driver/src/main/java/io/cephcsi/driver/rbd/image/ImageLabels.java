package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Writes the Kubernetes names of a volume or snapshot into the metadata of its image, if the
 * configuration says so.
 *
 * @param enabled whether anything is written
 * @param clusterName the Kubernetes cluster; empty for none
 */
public record ImageLabels(boolean enabled, String clusterName) {
  /** Writes nothing. */
  public static final ImageLabels NONE = new ImageLabels(false, "");

  /** The name of the PersistentVolume, by which its volume was made. */
  public static final String PV_NAME = "csi.storage.k8s.io/pv/name";

  /** The namespace of the claim, which owns the volume. */
  public static final String PVC_NAMESPACE = "csi.storage.k8s.io/pvc/namespace";

  private static final String CLUSTER = "csi.ceph.com/cluster/name";
  private static final List<String> KEYS =
      List.of(
          "csi.storage.k8s.io/pvc/name",
          PVC_NAMESPACE,
          PV_NAME,
          "csi.storage.k8s.io/volumesnapshot/name",
          "csi.storage.k8s.io/volumesnapshot/namespace",
          "csi.storage.k8s.io/volumesnapshotcontent/name");

  /** Those of a request's parameters that are names for labels. */
  public static Map<String, String> of(Map<String, String> parameters) {
    Map<String, String> labels = new LinkedHashMap<>();
    for (String key : KEYS) {
      String value = parameters.get(key);
      if (value != null && !value.isEmpty()) {
        labels.put(key, value);
      }
    }
    return labels;
  }

  /**
   * Writes the labels of an image that was only just made, and takes away those that a clone
   * inherited from its source; two round trips, or none.
   */
  public void write(RbdPool pool, String imageId, Map<String, String> labels) {
    if (!enabled) {
      return;
    }
    Map<String, String> wanted = new LinkedHashMap<>(labels);
    if (!clusterName.isEmpty()) {
      wanted.put(CLUSTER, clusterName);
    }
    Set<String> keys = new LinkedHashSet<>(KEYS);
    keys.addAll(wanted.keySet());
    Map<String, String> present = HeaderMetadata.read(pool.io(), imageId, keys);
    List<String> foreign =
        present.keySet().stream().filter(key -> !wanted.containsKey(key)).toList();
    wanted.entrySet().removeIf(label -> label.getValue().equals(present.get(label.getKey())));
    HeaderMetadata.change(pool.io(), imageId, wanted, foreign);
  }
}
