package io.cephcsi.driver.testing;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.awaitility.Awaitility;

/** What is in a pool, asked through the command line, the independent client. */
public final class PoolState {
  /**
   * How long what the manager removes may take: what fails it tries again after 30 s, after another
   * 65 s, and after another 95 s.
   */
  public static final Duration MANAGER_TIME = Duration.ofMinutes(5);

  private static final ObjectMapper JSON = new ObjectMapper();

  private final TestCluster cluster;
  private final String pool;

  /** Looks at a pool. */
  public PoolState(TestCluster cluster, String pool) {
    this.cluster = cluster;
    this.pool = pool;
  }

  /** Parses what a command printed. */
  public static JsonNode json(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(text, e);
    }
  }

  /** The names of all images. */
  public List<String> images() {
    return texts(json(cluster.rbd("ls", pool, "--format", "json")));
  }

  /** The names of the images in the trash. */
  public List<String> trash() {
    List<String> names = new ArrayList<>();
    json(cluster.rbd("trash", "ls", pool, "--all", "--format", "json"))
        .forEach(entry -> names.add(entry.path("name").asText()));
    return names;
  }

  /** What {@code rbd info} says of an image. */
  public JsonNode info(String image) {
    return json(cluster.rbd("info", pool + "/" + image, "--format", "json"));
  }

  /** The snapshots of an image, of all kinds. */
  public JsonNode snapshots(String image) {
    return json(cluster.rbd("snap", "ls", "--all", pool + "/" + image, "--format", "json"));
  }

  /** The names of all objects but those that a pool keeps once it held a volume. */
  public Set<String> objects() {
    Set<String> objects = new TreeSet<>();
    cluster.rados("-p", pool, "ls").lines().forEach(objects::add);
    objects.removeIf(
        name ->
            name.matches(
                    "rbd_(directory|group_directory|info|trash|children|trash_.*|task|mirroring|purge.*|mirror_leader|mirror_instance.*)")
                || name.matches("csi\\.(volumes|snaps|groups|java\\.nodes)\\..*")
                || name.equals("ceph-csi-java.reclaims"));
    return objects;
  }

  /** The names of all groups of images. */
  public List<String> groups() {
    return texts(json(cluster.rbd("group", "ls", pool, "--format", "json")));
  }

  /**
   * The {@link #objects}, the images in the trash, and the groups: what another test left is told
   * from what this one leaves by asking before, too.
   */
  public Set<String> everything() {
    Set<String> all = objects();
    trash().forEach(image -> all.add(inTrash(image)));
    groups().forEach(group -> all.add("group " + group));
    return all;
  }

  /** An image in the trash as {@link #everything} names it. */
  public static String inTrash(String image) {
    return "in the trash " + image;
  }

  /** What is there of {@link #everything} and was not before. */
  public Set<String> left(Set<String> before) {
    Set<String> left = everything();
    left.removeAll(before);
    return left;
  }

  /**
   * Waits until nothing is there that was not before. The manager takes some 5 s for what it is
   * given while it removes something else: a class that makes much waits once, at its end.
   */
  public void awaitNothingBut(Set<String> before) {
    Awaitility.await()
        .atMost(MANAGER_TIME)
        .pollInterval(Duration.ofSeconds(1))
        .untilAsserted(() -> assertThat(left(before)).isEmpty());
  }

  /** The omap of an object, as text. */
  public Map<String, String> omap(String object) {
    return new Omaps(cluster, pool, "").of(object);
  }

  /** The keys of a directory of the journal; none if it does not exist. */
  public List<String> keys(String directory) {
    if (cluster.rados("-p", pool, "ls").lines().noneMatch(directory::equals)) {
      return List.of();
    }
    return cluster.rados("-p", pool, "listomapkeys", directory).lines().toList();
  }

  private static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(node -> texts.add(node.asText()));
    return texts;
  }
}
