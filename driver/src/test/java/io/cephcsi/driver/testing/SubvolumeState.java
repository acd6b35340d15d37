package io.cephcsi.driver.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * What is in the file system and its journal, as client.admin sees it. One connection for all: the
 * command line takes a second for what is asked here many times.
 */
public final class SubvolumeState {
  private static final String NAMESPACE = "csi";
  private static final String METADATA = "cephfs.metadata";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MOST_KEYS = 10_000;
  private static final int UUID_LENGTH = 36;

  private final TestCluster ceph;
  private final RadosCluster cluster;
  private final IoContext metadata;
  private final Set<String> before = new TreeSet<>();

  /** Looks at the file system of a cluster, until the JVM ends. What is there by now is let be. */
  public SubvolumeState(TestCluster ceph) {
    this.ceph = ceph;
    this.cluster = ceph.connect();
    this.metadata = cluster.openPool(METADATA, NAMESPACE);
    letBeWhatIsThere();
  }

  /** From now on only what comes is a leftover: for a state that several classes share. */
  public void letBeWhatIsThere() {
    before.addAll(leftovers());
  }

  private JsonNode manager(String prefix, String... more) {
    Map<String, Object> command = new LinkedHashMap<>();
    command.put("prefix", prefix);
    command.put("vol_name", ceph.fileSystem());
    command.put("group_name", "csi");
    command.put("format", "json");
    for (int i = 0; i < more.length; i += 2) {
      command.put(more[i], more[i + 1]);
    }
    try {
      String text = cluster.mgrCommand(JSON.writeValueAsString(command)).text();
      return PoolState.json(text.isBlank() ? "{}" : text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The first release whose MDS can quiesce. */
  public static final int FIRST_TO_QUIESCE = 19;

  /** The release of the MDS. */
  public int release() {
    return Integer.parseInt(
        PoolState.json(ceph.ceph("versions", "--format", "json"))
            .path("mds")
            .fieldNames()
            .next()
            .replaceFirst("^ceph version (\\d+)\\..*", "$1"));
  }

  /** The names of all subvolumes that the driver made. */
  public List<String> subvolumes() {
    List<String> names = new ArrayList<>();
    manager("fs subvolume ls").forEach(node -> names.add(node.path("name").asText()));
    names.removeIf(name -> !name.matches("csi[-.].*") || before.contains(name));
    return names;
  }

  /** What the manager says of a subvolume. */
  public JsonNode info(String name) {
    return manager("fs subvolume info", "sub_name", name);
  }

  /** The names of the snapshots of a subvolume. */
  public List<String> snapshots(String name) {
    List<String> names = new ArrayList<>();
    manager("fs subvolume snapshot ls", "sub_name", name)
        .forEach(node -> names.add(node.path("name").asText()));
    return names;
  }

  /** Removes a snapshot behind the driver's back. */
  public void removeSnapshot(String name, String snapshot) {
    manager("fs subvolume snapshot rm", "sub_name", name, "snap_name", snapshot);
  }

  /** Removes a subvolume behind the driver's back. */
  public void removeSubvolume(String name) {
    manager("fs subvolume rm", "sub_name", name);
  }

  /** Changes the quota of a subvolume behind the driver's back. */
  public void resize(String name, long bytes) {
    manager("fs subvolume resize", "sub_name", name, "new_size", Long.toString(bytes));
  }

  /** Removes the reference tracker of a snapshot, as there is none of those that ceph-csi took. */
  public void removeTracker(String snapshotId) {
    metadata.remove("rt-backingsnapshot-" + snapshotId);
  }

  /** Lets the manager wait before it begins with a copy. */
  public void delayClones(int seconds) {
    ceph.ceph(
        "config", "set", "mgr", "mgr/volumes/snapshot_clone_delay", Integer.toString(seconds));
  }

  /** Cancels a clone, if it is not ready yet, and leaves what is there of it. */
  public void cancelClone(String name) {
    manager("fs clone cancel", "clone_name", name);
  }

  /** The journal objects and trackers of the default instance, with their omaps. */
  public Map<String, Map<String, String>> journal() {
    Map<String, Map<String, String>> all = new TreeMap<>();
    metadata.objects().stream()
        .filter(object -> !before.contains(object) && !isOfAnotherInstance(object))
        .forEach(object -> all.put(object, omap(object)));
    all.entrySet() // of a class that had groups
        .removeIf(each -> each.getKey().startsWith("csi.groups.") && each.getValue().isEmpty());
    return all;
  }

  private static boolean isOfAnotherInstance(String object) {
    return isOfDriver(object)
        || (object.matches("csi\\.(volumes|snaps|groups)\\..*") && !object.endsWith(".default"));
  }

  /** The omap of an object of the journal, as text. */
  public Map<String, String> omap(String object) {
    Map<String, String> values = new TreeMap<>();
    try (ReadOperation read = new ReadOperation()) {
      var page = read.omapGetVals("", "", MOST_KEYS);
      metadata.operate(object, read);
      page.get().values().forEach((key, value) -> values.put(key, new String(value, UTF_8)));
    }
    return values;
  }

  /** Marks a volume as a driver does that dies while it deletes it. */
  public void markDeleting(String volumeId) {
    String object = "csi.volume." + volumeId.substring(volumeId.length() - UUID_LENGTH);
    setOmap(object, "csi.java.deleting", "2026-01-01T00:00:00Z x");
  }

  /** Writes a key of an object that is there. */
  public void setOmap(String object, String key, String value) {
    try (WriteOperation write = new WriteOperation()) {
      metadata.operate(object, write.assertExists().omapSet(key, value.getBytes(UTF_8)));
    }
  }

  /** Removes a key of an object that is there. */
  public void removeOmap(String object, String key) {
    try (WriteOperation write = new WriteOperation()) {
      metadata.operate(object, write.assertExists().omapRemove(List.of(key)));
    }
  }

  /** Removes an object of the journal or a tracker. */
  public void removeObject(String object) {
    metadata.remove(object);
  }

  /** The trackers, as another program on the same file system changes them. */
  public ReferenceTracker tracker() {
    return new Trackers().in(metadata);
  }

  /** The names in the journal, its objects without directories and nodes, and subvolumes. */
  public Set<String> leftovers() {
    Set<String> left = new TreeSet<>(subvolumes());
    for (String object : metadata.objects()) {
      if (object.matches("csi\\.(volumes|snaps|groups)\\..*")) {
        left.addAll(omap(object).keySet());
      } else if (!isOfDriver(object)) {
        left.add(object);
      }
    }
    left.removeAll(before);
    return left;
  }

  /** Whether an object is of no volume: it is there, or comes, whatever volumes are. */
  private static boolean isOfDriver(String object) {
    return object.startsWith("csi.java.nodes.") || object.startsWith("csi.java.deleted.");
  }

  /** The identifier that the journal of the default instance has for a request name. */
  public String volumeId(String requestName) {
    return "0001-000c-test-cluster-0000000000000001-"
        + omap("csi.volumes.default").get("csi.volume." + requestName);
  }

  /** Texts with other ids in them. */
  public static Map<String, Map<String, String>> renamed(
      Map<String, Map<String, String>> objects, Map<String, String> ids) {
    Map<String, Map<String, String>> renamed = new TreeMap<>();
    objects.forEach(
        (object, omap) -> {
          Map<String, String> values = new TreeMap<>();
          omap.forEach((key, value) -> values.put(rename(key, ids), rename(value, ids)));
          renamed.put(rename(object, ids), values);
        });
    return renamed;
  }

  private static String rename(String text, Map<String, String> ids) {
    String renamed = text.replace("0001-0003-bar-", "0001-000c-test-cluster-");
    for (Map.Entry<String, String> id : ids.entrySet()) {
      renamed = renamed.replace(id.getKey(), id.getValue());
    }
    return renamed;
  }

  /** Writes a file, as a pod would. */
  public void write(String path, String text) {
    mounted(
        mount -> {
          try (CephFsFile file = mount.createFile(path, 0644)) {
            file.write(0, text.getBytes(UTF_8));
            file.flush();
          }
          return null;
        });
  }

  /** Reads a file. */
  public String read(String path) {
    return mounted(
        mount -> {
          try (CephFsFile file = mount.openFile(path)) {
            return new String(file.read(0, 1 << 20), UTF_8);
          }
        });
  }

  /** Works on the whole file system. */
  public <T> T mounted(Function<CephFsMount, T> work) {
    try (CephFsMount mount = CephFsMount.mount(cluster, ceph.fileSystem(), "/")) {
      return work.apply(mount);
    }
  }
}
