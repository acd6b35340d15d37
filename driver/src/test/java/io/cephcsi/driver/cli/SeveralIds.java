package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A test cluster that several clusterIDs stand for, and runs of the program on its file system.
 *
 * @param ceph the cluster
 * @param folder for files of the runs
 * @param ids the clusterIDs
 */
record SeveralIds(TestCluster ceph, Path folder, List<Id> ids) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * A clusterID.
   *
   * @param namespace of its CephFS journal; empty of one whose entry cannot be used
   * @param group of its subvolumes
   */
  record Id(String clusterId, String namespace, String group) {}

  /** The same where the configuration has some of the clusterIDs only. */
  SeveralIds only(String... clusterIds) {
    List<String> kept = Arrays.asList(clusterIds);
    return new SeveralIds(
        ceph, folder, ids.stream().filter(id -> kept.contains(id.clusterId)).toList());
  }

  /** The same with an entry that cannot be used. */
  SeveralIds withUnusable(String clusterId) {
    List<Id> all = new ArrayList<>(ids);
    all.add(new Id(clusterId, "", ""));
    return new SeveralIds(ceph, folder, all);
  }

  List<String> clusterIds() {
    return ids.stream().map(Id::clusterId).toList();
  }

  /** The text of config.json. */
  String config() {
    return ids.stream()
        .map(
            id ->
                id.namespace.isEmpty()
                    ? "{\"clusterID\": \"" + id.clusterId + "\"}"
                    : """
                    {"clusterID": "%s", "monitors": ["%s"],
                     "cephFS": {"radosNamespace": "%s", "subvolumeGroup": "%s"}}
                    """
                        .formatted(id.clusterId, ceph.monitors(), id.namespace, id.group))
        .collect(Collectors.joining(",", "[", "]"));
  }

  /** A driver that has credentials for all of the clusterIDs. */
  TestDriver startDriver() {
    return TestDriver.cephFs(ceph).clusters(config(), clusterIds()).withCredentials().start();
  }

  /** A run of the program with a user's credentials. */
  Program run(String user, String... args) throws IOException {
    Path files = Files.createTempDirectory(folder, "run");
    Path clusters = Files.writeString(files.resolve("config.json"), config());
    Path credentials = TestDriver.credentialsFolder(ceph, files, user, clusterIds());
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(List.of("--clusters-file", clusters.toString(), "-o", "json"));
    all.addAll(List.of("--credentials-file", credentials.toString()));
    all.addAll(List.of("--file-system", ceph.fileSystem()));
    return Program.run(all.toArray(new String[0]));
  }

  /** What {@code ceph-csi fsck} reports. */
  JsonNode fsck(String user, String... args) throws IOException {
    List<String> all = new ArrayList<>(List.of("fsck", "--settle", "10ms", "--min-age", "0"));
    all.addAll(List.of(args));
    Program run = run(user, all.toArray(new String[0]));
    assertThat(run.err()).isEmpty();
    JsonNode report = JSON.readTree(run.out());
    assertThat(run.exitCode()).isEqualTo(report.path("findings").isEmpty() ? 0 : 3);
    return report;
  }

  /** The kinds of the findings in a report, each with its object. */
  static List<String> found(JsonNode report) {
    List<String> found = new ArrayList<>();
    report
        .path("findings")
        .forEach(
            finding ->
                found.add(finding.path("kind").asText() + " " + finding.path("object").asText()));
    return found;
  }
}
