package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterMappingTest {
  private static final UUID VOLUME = new UUID(1, 2);

  @TempDir Path folder;

  private static VolumeId id(String cluster, long pool) {
    return new VolumeId(cluster, pool, VOLUME);
  }

  private ClusterMapping mapping(String json) throws IOException {
    Files.writeString(folder.resolve("cluster-mapping.json"), json);
    return ClusterMapping.beside(folder.resolve("config.json"));
  }

  @Test
  void clustersAndPoolsStandForEachOtherBothWays() throws IOException {
    ClusterMapping mapping =
        mapping(
            """
            [{"clusterIDMapping": {"a": "b"},
              "RBDPoolIDMapping": [{"1": "2"}, {"11": "12"}], "CephFSFscIDMapping": [{"3": "4"}]},
             {"clusterIDMapping": {"a": "c"}, "RBDPoolIDMapping": [{"1": "1"}, {"1": "7"}]}]
            """);
    assertThat(mapping.alternatives(id("a", 1)))
        .containsExactly(id("b", 2), id("c", 1), id("c", 7));
    assertThat(mapping.alternatives(id("b", 2))).containsExactly(id("a", 1));
    assertThat(mapping.alternatives(id("b", 12))).containsExactly(id("a", 11));
    assertThat(mapping.alternatives(id("c", 7))).containsExactly(id("a", 1));
    assertThat(mapping.alternatives(id("a", 3))).isEmpty();
    assertThat(mapping.alternatives(id("d", 1))).isEmpty();
  }

  @Test
  void aClusterThatKeepsItsNameHasOtherPools() throws IOException {
    ClusterMapping mapping =
        mapping("[{\"clusterIDMapping\":{\"a\":\"a\"},\"RBDPoolIDMapping\":[{\"1\":\"2\"}]}]");
    assertThat(mapping.alternatives(id("a", 1))).containsExactly(id("a", 2));
    assertThat(mapping.alternatives(id("a", 2))).containsExactly(id("a", 1));
  }

  @Test
  void withoutAFileNothingIsMapped() throws IOException {
    assertThat(ClusterMapping.beside(folder.resolve("config.json")).alternatives(id("a", 1)))
        .isEmpty();
    assertThat(mapping("[]").alternatives(id("a", 1))).isEmpty();
    assertThat(mapping("[{}]").alternatives(id("a", 1))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "{}",
        "[1]",
        "[{\"clusterIDMapping\": []}]",
        "[{\"clusterIDMapping\": {\"a\": {}}}]",
        "[{\"clusterIDMapping\": {\"a\": \"\"}}]",
        "[{\"clusterIDMapping\": {\"a\": \"x\\ny\"}}]",
        "[{\"RBDPoolIDMapping\": [1]}]",
        "[{\"RBDPoolIDMapping\": [{\"1\": \"two\"}]}]",
        "[{\"RBDPoolIDMapping\": [{\"1\": \"-2\"}]}]",
        "[{\"RBDPoolIDMapping\": [{\"1\": \"99999999999999999999\"}]}]"
      })
  void aFileThatIsNotAsItMustBeIsNamed(String json) throws IOException {
    ClusterMapping mapping = mapping(json);
    assertThatThrownBy(() -> mapping.alternatives(id("a", 1)))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.FAILED_PRECONDITION))
        .hasMessageContaining("cluster-mapping.json");
  }
}
