package io.cephcsi.driver.interchange;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Lays out, with the command line, the independent client, what is recorded of ceph-csi: images
 * with their parents and snapshots, the trash, and the journal's objects with their bytes; only the
 * ids of images are those of the images that are made here.
 */
public final class GoldenLayout {
  /** The call after which all images that are recorded live. */
  public static final String ALL_LIVE = "RBD CreateVolume pvc-3 from pvc-1";

  private static final String POOL = "rbd";

  private final TestCluster cluster;
  private final Map<String, JsonNode> described = new LinkedHashMap<>();
  private final Set<String> made = new LinkedHashSet<>();
  private final Map<String, String> ids = new TreeMap<>();

  private GoldenLayout(TestCluster cluster) {
    this.cluster = cluster;
  }

  /**
   * Lays the state after a call out; the first image gets content before anything is made of it.
   *
   * @return the ids of the images in the trash, clones before their parents
   */
  public static List<String> layOut(TestCluster cluster, String call) {
    GoldenLayout layout = new GoldenLayout(cluster);
    JsonNode rbd = Golden.after(call).get("rbd");
    describe(layout.described, ALL_LIVE);
    describe(layout.described, call);
    List<String> trash = new ArrayList<>();
    rbd.get("trash").forEach(name -> trash.add(name.asText()));
    rbd.get("images").fieldNames().forEachRemaining(layout::make);
    trash.forEach(layout::make);
    List<String> trashed = new ArrayList<>();
    for (String image : layout.made) {
      JsonNode now = rbd.get("images").path(image).path("snaps");
      layout.settleSnapshots(image, now);
      if (trash.contains(image)) {
        cluster.rbd("trash", "mv", POOL + "/" + image);
        trashed.add(0, layout.ids.get(image));
      }
    }
    Map<String, Map<String, String>> journal = Golden.journal(call);
    journal
        .values()
        .forEach(
            omap ->
                omap.computeIfPresent(
                    "csi.imageid", (key, id) -> layout.ids.get(omap.get("csi.imagename"))));
    new Omaps(cluster, POOL, "").put(journal);
    return trashed;
  }

  private static void describe(Map<String, JsonNode> images, String call) {
    Golden.after(call)
        .get("rbd")
        .get("images")
        .properties()
        .forEach(image -> images.putIfAbsent(image.getKey(), image.getValue()));
  }

  private void make(String image) {
    if (made.contains(image)) {
      return;
    }
    JsonNode description = described.get(image);
    List<String> features = new ArrayList<>();
    for (JsonNode feature : description.get("features")) {
      if (!feature.asText().equals("operations")) { // librbd turns it on with trash snapshots
        features.add(feature.asText());
      }
    }
    JsonNode parent = description.get("parent");
    if (parent.isObject()) {
      String from = parent.get("image").asText();
      make(from);
      String snapshot = originalName(from, parent.get("snapshot").asText());
      takeSnapshot(from, snapshot);
      cluster.rbd(
          "clone",
          "--rbd-default-clone-format=2",
          "--image-feature=" + String.join(",", features),
          POOL + "/" + from + "@" + snapshot,
          POOL + "/" + image);
    } else {
      cluster.rbd(
          "create",
          "--size=64M",
          "--image-feature=" + String.join(",", features),
          POOL + "/" + image);
      new ImageContent(cluster).write(POOL + "/" + image, 7);
    }
    made.add(image);
    ids.put(
        image,
        cluster
            .rbd("info", POOL + "/" + image, "--format", "json")
            .replaceAll("(?s).*?\"id\":\"([0-9a-f]+)\".*", "$1"));
  }

  private String originalName(String image, String snapshot) {
    for (JsonNode snap : described.get(image).get("snaps")) {
      if (snap.path("name").asText().equals(snapshot)) {
        JsonNode original = snap.path("namespace").path("original_name");
        return original.isMissingNode() ? snapshot : original.asText();
      }
    }
    throw new IllegalStateException("nothing is recorded of " + image + "@" + snapshot);
  }

  private void takeSnapshot(String image, String snapshot) {
    if (!userSnapshots(image).contains(snapshot)) {
      cluster.rbd("snap", "create", POOL + "/" + image + "@" + snapshot, "--no-progress");
    }
  }

  private List<String> userSnapshots(String image) {
    return cluster
        .rbd("snap", "ls", POOL + "/" + image)
        .lines()
        .skip(1)
        .map(line -> line.trim().split("\\s+", -1)[1])
        .toList();
  }

  /** Snapshots that are no user's go to the trash namespace, where the clones keep them. */
  private void settleSnapshots(String image, JsonNode recorded) {
    List<String> users = new ArrayList<>();
    for (JsonNode snap : recorded) {
      if (snap.path("namespace").path("type").asText().equals("user")) {
        users.add(snap.path("name").asText());
      }
    }
    users.forEach(snapshot -> takeSnapshot(image, snapshot));
    for (String snapshot : userSnapshots(image)) {
      if (!users.contains(snapshot)) {
        cluster.rbd("snap", "rm", POOL + "/" + image + "@" + snapshot, "--no-progress");
      }
    }
  }
}
