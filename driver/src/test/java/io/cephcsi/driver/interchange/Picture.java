package io.cephcsi.driver.interchange;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.testing.TestCluster;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/**
 * All that volumes and snapshots leave in a namespace of a pool, in a form that can be compared
 * with what is recorded of ceph-csi: keys of the journal with the bytes of their values, images
 * with features, parents, snapshots and metadata, and the trash. Names that a cluster makes up
 * stand for what they mean: the id of an image for the image, a snapshot in the trash namespace for
 * the name that it had.
 *
 * @param journal the omaps of the journal's objects
 * @param images what is to be known of each image
 * @param trash the names of the images in the trash
 */
record Picture(
    Map<String, Map<String, String>> journal,
    Map<String, Map<String, String>> images,
    Set<String> trash) {
  private static final String IMAGE_ID = "csi.imageid";

  /** What ceph-csi left after a call, without groups, which have a test of their own. */
  static Picture golden(String call) {
    Map<String, Map<String, String>> journal = new TreeMap<>();
    Golden.journal(call)
        .forEach(
            (object, omap) -> {
              if (object.startsWith("csi.groups.") || object.startsWith("csi.volume.group.")) {
                return;
              }
              Map<String, String> values = new TreeMap<>(omap);
              values.computeIfPresent(
                  IMAGE_ID, (key, id) -> "id of " + omap.getOrDefault("csi.imagename", ""));
              journal.put(object, values);
            });
    JsonNode rbd = Golden.after(call).get("rbd");
    Map<String, Map<String, String>> images = new TreeMap<>();
    rbd.get("images")
        .properties()
        .forEach(
            image ->
                images.put(
                    image.getKey(),
                    image(
                        image.getValue().get("features"),
                        image.getValue().get("parent"),
                        image.getValue().get("snaps"),
                        image.getValue().get("metadata"))));
    Set<String> trash = new TreeSet<>();
    rbd.get("trash").forEach(name -> trash.add(name.asText()));
    return new Picture(journal, images, trash);
  }

  private static Map<String, String> image(
      JsonNode features, JsonNode parent, JsonNode snaps, JsonNode metadata) {
    Map<String, String> image = new TreeMap<>();
    Set<String> names = new TreeSet<>();
    features.forEach(feature -> names.add(feature.asText()));
    image.put("features", names.toString());
    if (parent.isObject()) {
      image.put("parent", parent.path("image").asText() + "@" + snapshot(parent.path("snapshot")));
    }
    Set<String> snapshots = new TreeSet<>();
    for (JsonNode snap : snaps) {
      String type = snap.path("namespace").path("type").asText();
      snapshots.add(
          type.equals("trash")
              ? "trash: " + snap.path("namespace").path("original_name").asText()
              : type + ": " + snap.path("name").asText());
    }
    image.put("snapshots", snapshots.toString());
    image.put("metadata", metadata.isEmpty() ? "{}" : metadata.toString());
    return image;
  }

  /** A snapshot in the trash namespace has a random uuid for a name. */
  private static String snapshot(JsonNode name) {
    try {
      UUID ignored = UUID.fromString(name.asText());
      return "(trash)";
    } catch (IllegalArgumentException e) {
      return name.asText();
    }
  }

  /**
   * What there is of some volumes and snapshots.
   *
   * @param journalPool the pool of the directories
   * @param pool the pool of the images
   * @param uuids those of the volumes and snapshots; whatever bears none of them belongs to others
   */
  static Picture taken(
      TestCluster cluster, String journalPool, String pool, String namespace, Set<String> uuids) {
    String place = namespace.isEmpty() ? pool : pool + "/" + namespace;
    PoolState state = new PoolState(cluster, place);
    Map<String, String> imageOfId = new TreeMap<>();
    Map<String, Map<String, String>> images = new TreeMap<>();
    for (String name : state.images()) {
      if (has(name, uuids)) {
        JsonNode info = state.info(name);
        imageOfId.put(info.path("id").asText(), name);
        images.put(
            name,
            image(
                info.path("features"),
                info.path("parent"),
                state.snapshots(name),
                PoolState.json(
                    cluster.rbd("image-meta", "list", place + "/" + name, "--format", "json"))));
      }
    }
    Set<String> trash = new TreeSet<>();
    for (String name : state.trash()) {
      if (has(name, uuids)) {
        trash.add(name);
      }
    }
    Map<String, Map<String, String>> journal = new TreeMap<>();
    readJournal(new Omaps(cluster, pool, namespace), uuids, imageOfId, journal);
    if (!journalPool.equals(pool)) {
      readJournal(new Omaps(cluster, journalPool, namespace), uuids, imageOfId, journal);
    }
    return new Picture(journal, images, trash);
  }

  private static void readJournal(
      Omaps omaps,
      Set<String> uuids,
      Map<String, String> imageOfId,
      Map<String, Map<String, String>> journal) {
    for (String object : omaps.objects()) {
      if (object.matches("csi\\.(volumes|snaps)\\..*")) {
        Map<String, String> keys = new TreeMap<>(omaps.of(object));
        keys.values().removeIf(value -> !has(value, uuids));
        if (!keys.isEmpty() || object.endsWith(".default")) {
          journal.merge(object, keys, Picture::both);
        }
      } else if (object.matches("csi\\.(volume|snap)\\.[^g].*") && has(object, uuids)) {
        Map<String, String> keys = omaps.of(object);
        keys.computeIfPresent(
            IMAGE_ID, (key, id) -> "id of " + imageOfId.getOrDefault(id, "no image: " + id));
        journal.put(object, keys);
      }
    }
  }

  private static Map<String, String> both(Map<String, String> a, Map<String, String> b) {
    Map<String, String> both = new TreeMap<>(a);
    both.putAll(b);
    return both;
  }

  private static boolean has(String text, Set<String> uuids) {
    return uuids.stream().anyMatch(text::contains);
  }

  /** The same with other uuids or names, and without directories that have no key. */
  Picture with(Map<String, String> replacements) {
    Map<String, Map<String, String>> objects = new TreeMap<>();
    journal.forEach(
        (object, omap) -> {
          if (!omap.isEmpty()) {
            objects.put(replace(object, replacements), replace(omap, replacements));
          }
        });
    Map<String, Map<String, String>> things = new TreeMap<>();
    images.forEach(
        (name, image) -> things.put(replace(name, replacements), replace(image, replacements)));
    Set<String> gone = new TreeSet<>();
    trash.forEach(name -> gone.add(replace(name, replacements)));
    return new Picture(objects, things, gone);
  }

  private static Map<String, String> replace(
      Map<String, String> map, Map<String, String> replacements) {
    Map<String, String> result = new TreeMap<>();
    map.forEach((key, value) -> result.put(key, replace(value, replacements)));
    return result;
  }

  private static String replace(String text, Map<String, String> replacements) {
    String result = text;
    for (Map.Entry<String, String> replacement : replacements.entrySet()) {
      result = result.replace(replacement.getKey(), replacement.getValue());
    }
    return result;
  }

  /** Without the keys that this driver adds, all of which begin alike. */
  Picture withoutOwnKeys() {
    Map<String, Map<String, String>> objects = new TreeMap<>();
    journal.forEach(
        (object, omap) -> {
          Map<String, String> rest = new TreeMap<>(omap);
          rest.keySet().removeIf(key -> key.startsWith("csi.java."));
          objects.put(object, rest);
        });
    return new Picture(objects, images, trash);
  }

  /** Without whatever bears a text. */
  Picture without(String text) {
    Map<String, Map<String, String>> objects = new TreeMap<>();
    journal.forEach(
        (object, omap) -> {
          Map<String, String> rest = new TreeMap<>(omap);
          rest.values().removeIf(value -> value.contains(text));
          if (!object.contains(text)) {
            objects.put(object, rest);
          }
        });
    Map<String, Map<String, String>> things = new TreeMap<>(images);
    things.keySet().removeIf(name -> name.contains(text));
    return new Picture(objects, things, trash);
  }
}
