package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterDirectoryTest {
  @TempDir private Path folder;
  private Path file;
  private ClusterDirectory directory;

  @BeforeEach
  void directory() {
    file = folder.resolve("config.json");
    directory = new ClusterDirectory(file);
  }

  @Test
  void allSettingsOfAClusterAreRead() throws IOException {
    Files.writeString(
        file,
        """
        [{"clusterID": "c1", "monitors": ["10.0.0.1:6789", "10.0.0.2:6789"],
          "rbd": {"radosNamespace": "ns", "mirrorDaemonCount": 2, "netNamespaceFilePath": "/r"},
          "cephFS": {"radosNamespace": "fsns", "subvolumeGroup": "group",
                     "netNamespaceFilePath": "/c", "kernelMountOptions": "ms_mode=crc",
                     "fuseMountOptions": "debug"},
          "readAffinity": {"enabled": true, "crushLocationLabels": ["rack", "host"]}},
         {"clusterID": "c2", "monitors": ["[v2:10.0.0.3:3300,v1:10.0.0.3:6789]"],
          "rbd": {}, "cephFS": {"subvolumeGroup": ""},
          "readAffinity": {"enabled": "false", "crushLocationLabels": ["rack"]}}]
        """);
    ClusterConfig c1 = directory.require("c1");
    assertThat(c1.monitors()).containsExactly("10.0.0.1:6789", "10.0.0.2:6789");
    assertThat(c1.rbdNamespace()).isEqualTo("ns");
    assertThat(c1.cephFsNamespace()).isEqualTo("fsns");
    assertThat(c1.subvolumeGroup()).isEqualTo("group");
    assertThat(c1.node())
        .isEqualTo(new NodeConfig("ms_mode=crc", "debug", "/r", "/c", List.of("rack", "host")));
    ClusterConfig c2 = directory.require("c2");
    assertThat(c2.node()).isEqualTo(NodeConfig.NOTHING);
    assertThat(c2.rbdNamespace()).isEmpty();
    assertThat(c2.cephFsNamespace()).isEqualTo("csi");
    assertThat(c2.subvolumeGroup()).isEqualTo("csi");
    assertThat(directory.clusters()).containsOnlyKeys("c1", "c2");
  }

  @Test
  void whereVolumesAreMirroredToIsRead() throws IOException {
    Files.writeString(
        file,
        """
        [{"clusterID": "c1", "monitors": ["m"],
          "replicationDestination": {"remoteClusterID": "other", "rbd":
            {"remotePoolMapping": {"p1": {"poolID": "5"}, "p2": {"poolID": 6}}}}},
         {"clusterID": "c2", "monitors": ["m"],
          "replicationDestination": {"remoteClusterID": "third"}}]
        """);
    assertThat(directory.require("c1").replication())
        .contains(new ReplicationTarget("other", Map.of("p1", 5L, "p2", 6L)));
    assertThat(directory.require("c2").replication())
        .contains(new ReplicationTarget("third", Map.of()));
    for (String wrong :
        List.of(
            "{\"remoteClusterID\": \"" + "x".repeat(65) + "\"}",
            "{\"remoteClusterID\": \"a\\nb\"}",
            "{\"remoteClusterID\": \"a\", \"rbd\": {\"remotePoolMapping\": {\"p\": {}}}}")) {
      Files.writeString(
          file,
          "[{\"clusterID\": \"c\", \"monitors\": [\"m\"], \"replicationDestination\": "
              + wrong
              + "}]");
      assertThatThrownBy(() -> new ClusterDirectory(file).require("c"))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
          .hasMessageContaining("replicationDestination");
    }
  }

  @Test
  void whatTheFileDoesNotSayHoldsByDefault() throws IOException {
    Files.writeString(
        file,
        """
        [{"clusterID": "silent", "monitors": ["m"]},
         {"clusterID": "says", "monitors": ["m"],
          "cephFS": {"kernelMountOptions": "ms_mode=crc", "fuseMountOptions": "debug"},
          "readAffinity": {"enabled": true, "crushLocationLabels": ["rack"]}},
         {"clusterID": "on", "monitors": ["m"], "readAffinity": {"enabled": true}},
         {"clusterID": "off", "monitors": ["m"], "readAffinity": {"enabled": false}},
         {"clusterID": "empty", "monitors": ["m"], "readAffinity": {}}]
        """);
    ClusterDirectory clusters =
        new ClusterDirectory(file, new ClusterDefaults("wsize=1", "nonempty", List.of("zone"), ""));
    assertThat(clusters.require("silent").node())
        .isEqualTo(new NodeConfig("wsize=1", "nonempty", "", "", List.of("zone")));
    assertThat(clusters.require("says").node())
        .isEqualTo(new NodeConfig("ms_mode=crc", "debug", "", "", List.of("rack")));
    assertThat(clusters.require("on").node().crushLabels()).containsExactly("zone");
    assertThat(clusters.require("off").node().crushLabels()).isEmpty();
    assertThat(clusters.require("empty").node().crushLabels()).isEmpty();
  }

  @Test
  void anOlderNamespaceOfCephFsIsWarnedOfWhereTheFileSaysAnother() throws IOException {
    Files.writeString(
        file,
        """
        [{"clusterID": "c1", "monitors": ["m"]},
         {"clusterID": "c2", "monitors": ["m"], "cephFS": {"radosNamespace": "old"}}]
        """);
    ClusterDirectory clusters =
        new ClusterDirectory(file, new ClusterDefaults("", "", List.of(), "old"));
    try (Logged log = Logged.by(ClusterDirectory.class)) {
      assertThat(clusters.require("c1").cephFsNamespace()).isEqualTo("csi");
      assertThat(clusters.require("c2").cephFsNamespace()).isEqualTo("old");
      assertThat(log.lines()).hasSize(1).first().asString().startsWith("WARN cluster \"c1\"");
    }
  }

  @Test
  void aClusterThatIsNotNamedIsTheCallersMistake() throws IOException {
    Files.writeString(file, clusters("c1"));
    assertThatThrownBy(() -> directory.require("c2"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("\"c2\"")
        .hasMessageContaining("config.json");
  }

  @Test
  void aChangeIsSeenWithoutARestart() throws IOException {
    Files.writeString(file, clusters("c1"));
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    Files.writeString(file, clusters("c1", "c2"));
    assertThat(directory.clusters()).containsOnlyKeys("c1", "c2");
    // Same size, another time.
    Files.writeString(file, clusters("c1", "c3"));
    Files.setLastModifiedTime(file, FileTime.from(Instant.ofEpochSecond(1_000_000)));
    assertThat(directory.clusters()).containsOnlyKeys("c1", "c3");
  }

  @Test
  void aFileThatReplacesAnotherOfTheSameSizeAndTimeIsSeen() throws IOException {
    FileTime time = FileTime.from(Instant.ofEpochSecond(1_000_000));
    Files.writeString(file, clusters("c1"));
    Files.setLastModifiedTime(file, time);
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    Path next = Files.writeString(folder.resolve("next"), clusters("c2"));
    Files.setLastModifiedTime(next, time);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    assertThat(directory.clusters()).containsOnlyKeys("c2");
  }

  @Test
  void theSwapOfLinksByWhichAConfigMapChangesIsSeen() throws IOException {
    // config.json -> ..data/config.json, ..data -> ..2026_1
    Path one = Files.createDirectory(folder.resolve("..2026_1"));
    Path two = Files.createDirectory(folder.resolve("..2026_2"));
    FileTime time = FileTime.from(Instant.ofEpochSecond(1_000_000));
    Files.writeString(one.resolve("config.json"), clusters("c1"));
    Files.writeString(two.resolve("config.json"), clusters("c2"));
    Files.setLastModifiedTime(one.resolve("config.json"), time);
    Files.setLastModifiedTime(two.resolve("config.json"), time);
    Path data = folder.resolve("..data");
    Files.createSymbolicLink(data, one.getFileName());
    Files.createSymbolicLink(file, Path.of("..data", "config.json"));
    assertThat(directory.clusters()).containsOnlyKeys("c1");

    Path swap = Files.createSymbolicLink(folder.resolve("..data_tmp"), two.getFileName());
    Files.move(swap, data, StandardCopyOption.ATOMIC_MOVE);
    assertThat(directory.clusters()).containsOnlyKeys("c2");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[",
        "{}",
        "null",
        "\"text\"",
        "[{\"monitors\": [\"m\"]}]",
        "[{\"clusterID\": \"\", \"monitors\": [\"m\"]}]",
        "[7]"
      })
  void aFileThatIsBrokenByAnEditKeepsTheLastGoodClusters(String broken) throws IOException {
    Files.writeString(file, broken);
    assertUnavailable();

    Files.writeString(file, clusters("c1"));
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    Files.writeString(file, broken);
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    assertThat(directory.require("c1").monitors()).containsExactly("m1");
    Files.writeString(file, clusters("c1", "c4"));
    assertThat(directory.clusters()).containsOnlyKeys("c1", "c4");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"clusterID\": \"bad\"}",
        "{\"clusterID\": \"bad\", \"monitors\": []}",
        "{\"clusterID\": \"bad\", \"monitors\": \"m\"}",
        "{\"clusterID\": \"bad\", \"monitors\": [\"m\"], \"readAffinity\": {\"enabled\": \"yes\"}}",
        "{\"clusterID\": \"bad\", \"monitors\": [\"m\"],"
            + " \"replicationDestination\": {\"remoteClusterID\": \"a\\nb\"}}"
      })
  void anEntryThatCannotBeUsedIsTheMatterOfItsClusterOnly(String bad) throws IOException {
    VolumeId volume = new VolumeId("bad", 1, UUID.randomUUID());
    String content =
        "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"]}, %s, %s]"
            .formatted(bad, "{\"clusterID\": \"c2\", \"monitors\": [\"m\"]}");
    Files.writeString(file, content);
    try (Logged log = Logged.by(ClusterDirectory.class)) {
      assertThat(directory.clusters()).containsOnlyKeys("c1", "c2");
      assertThat(directory.require("c2").monitors()).containsExactly("m");
      assertThat(log.lines()).hasSize(1).first().asString().startsWith("WARN ").contains("\"bad\"");
    }
    assertUnavailable("bad", () -> directory.require("bad"));
    assertUnavailable("bad", () -> directory.find("bad"));
    assertUnavailable("bad", () -> directory.holding(volume, "volume"));
    assertUnavailable("bad", () -> directory.requireOf(volume, "volume"));
    assertUnavailable("bad", () -> directory.requireHolding(volume, "volume"));
    assertUnavailable("bad", () -> directory.requireUsable());
    assertUnavailable("bad", () -> directory.requireUsable(List.of("c1", "bad")));
    directory.requireUsable(List.of("c1", "c2", "c3"));
    assertThat(directory.find("c3")).isEmpty();

    Files.writeString(file, clusters("c1", "bad"));
    assertThat(directory.require("bad").monitors()).containsExactly("m1");
    directory.requireUsable();
    Files.writeString(file, content);
    assertThat(directory.require("bad").monitors()).as("read before").containsExactly("m1");
    assertThat(directory.clusters()).containsOnlyKeys("c1", "c2", "bad");
    directory.requireUsable();
    Files.writeString(file, clusters("c1"));
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    assertThat(directory.find("bad")).isEmpty();
  }

  /** Nobody can tell whose it is: any cluster that is not named may be meant. */
  @Test
  void anEntryWithoutAnIdMakesOnlyClustersThatAreNotNamedUnavailable() throws IOException {
    Files.writeString(
        file, "[{\"clusterID\": \"c2\", \"monitors\": [\"m\"]}, {\"clusterId\": \"c1\"}]");
    assertThat(directory.require("c2").monitors()).containsExactly("m");
    assertUnavailable("it has no clusterID", () -> directory.require("c1"));
    assertUnavailable("it has no clusterID", () -> directory.requireUsable());
  }

  @Test
  void ofTwoEntriesOfAClusterTheFirstHolds() throws IOException {
    Files.writeString(
        file,
        """
        [{"clusterID": "c1", "monitors": ["first"]}, {"clusterID": "c1", "monitors": ["second"]}]
        """);
    try (Logged log = Logged.by(ClusterDirectory.class)) {
      assertThat(directory.require("c1").monitors()).containsExactly("first");
      assertThat(log.lines()).hasSize(1).first().asString().startsWith("WARN ").contains("twice");
    }
  }

  @Test
  void aVolumeWhoseOtherPlaceCannotBeReadIsNotTakenForGone() throws IOException {
    Files.writeString(
        folder.resolve("cluster-mapping.json"),
        "[{\"clusterIDMapping\": {\"lost\": \"bad\"}, \"RBDPoolIDMapping\": [{\"1\": \"2\"}]}]");
    Files.writeString(file, "[{\"clusterID\": \"bad\", \"monitors\": []}]");
    VolumeId volume = new VolumeId("lost", 1, UUID.randomUUID());
    assertUnavailable("bad", () -> directory.requireHolding(volume, "volume"));
  }

  private static void assertUnavailable(String text, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
        .hasMessageContaining("config.json")
        .hasMessageContaining(text);
  }

  @Test
  void aMissingFileIsUnavailableUntilItIsThereAndThenKept() throws IOException {
    assertUnavailable();
    assertThatThrownBy(() -> directory.require("c1")).hasMessageContaining("does not exist");
    Files.writeString(file, clusters("c1"));
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    Files.delete(file);
    assertThat(directory.clusters()).containsOnlyKeys("c1");
  }

  private void assertUnavailable() {
    assertThatThrownBy(() -> directory.require("c1"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
        .hasMessageContaining("config.json");
  }

  private static String clusters(String... ids) {
    StringBuilder json = new StringBuilder("[");
    for (String id : ids) {
      json.append(json.length() > 1 ? "," : "")
          .append("{\"clusterID\": \"%s\", \"monitors\": [\"m1\"]}".formatted(id));
    }
    return json.append("]").toString();
  }

  /** Every call asks for the clusters. */
  @Test
  void contentThatIsBrokenIsReadAndLoggedOnce() throws IOException {
    String good = "[{\"clusterID\": \"c2\", \"monitors\": [\"m\"]}]";
    Files.writeString(file, "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"]}]");
    assertThat(directory.clusters()).containsOnlyKeys("c1");
    FileTime time = FileTime.from(Instant.parse("2030-01-01T00:00:00Z"));
    Files.writeString(file, "x".repeat(good.length()));
    Files.setLastModifiedTime(file, time);
    try (Logged log = Logged.by(ClusterDirectory.class)) {
      for (int i = 0; i < 3; i++) {
        assertThat(directory.clusters()).containsOnlyKeys("c1");
      }
      assertThat(log.lines()).hasSize(1).first().asString().startsWith("WARN ");
    }
    Files.writeString(file, good);
    Files.setLastModifiedTime(file, time);
    assertThat(directory.clusters())
        .as("looks as before, so it is not read")
        .containsOnlyKeys("c1");
    Files.setLastModifiedTime(file, FileTime.from(Instant.parse("2030-01-01T00:00:01Z")));
    assertThat(directory.clusters()).containsOnlyKeys("c2");
    Files.delete(file);
    try (Logged log = Logged.by(ClusterDirectory.class)) {
      for (int i = 0; i < 3; i++) {
        assertThat(directory.clusters()).containsOnlyKeys("c2");
      }
      assertThat(log.lines()).hasSize(1);
    }
  }
}
