package io.cephcsi.driver.fuzz;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * What a caller knows that does not guess: identifiers of volumes that the fuzzer made, its
 * secrets, the parameters of its class, and paths. For several threads.
 */
final class Known {
  private static final int MOST = 24;

  private final Map<String, String> secrets;
  private final Map<String, String> parameters;
  private final List<Path> paths;
  private final List<String> volumes = new ArrayList<>();
  private final List<String> snapshots = new ArrayList<>();
  private final List<String> groups = new ArrayList<>();

  Known(Map<String, String> secrets, Map<String, String> parameters, List<Path> paths) {
    this.secrets = Map.copyOf(secrets);
    this.parameters = Map.copyOf(parameters);
    this.paths = List.copyOf(paths);
  }

  Map<String, String> secrets() {
    return secrets;
  }

  Map<String, String> parameters() {
    return parameters;
  }

  String path(Random random) {
    return paths.get(random.nextInt(paths.size())).toString();
  }

  List<Path> paths() {
    return paths;
  }

  synchronized void volume(String id) {
    add(volumes, id);
  }

  synchronized void snapshot(String id) {
    add(snapshots, id);
  }

  synchronized void group(String id) {
    add(groups, id);
  }

  synchronized String volume(Random random) {
    return any(volumes, random);
  }

  synchronized String snapshot(Random random) {
    return any(snapshots, random);
  }

  synchronized String group(Random random) {
    return any(groups, random);
  }

  synchronized boolean isFull() {
    return volumes.size() >= MOST || snapshots.size() >= MOST;
  }

  /** Takes the oldest half away, to be deleted: of volumes, or of snapshots. */
  synchronized List<String> oldest(boolean ofSnapshots) {
    List<String> all = ofSnapshots ? snapshots : volumes;
    List<String> half = all.subList(0, all.size() / 2);
    List<String> taken = List.copyOf(half);
    half.clear();
    return taken;
  }

  private static void add(List<String> ids, String id) {
    if (!ids.contains(id)) {
      ids.add(id);
    }
  }

  private static String any(List<String> ids, Random random) {
    return ids.isEmpty()
        ? "0001-000c-test-cluster-0000000000000001-00000000-0000-0007-0000-000000000007"
        : ids.get(random.nextInt(ids.size()));
  }
}
