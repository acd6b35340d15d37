package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterExecutorsTest {
  @TempDir private Path folder;

  private ClusterExecutors executors(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.json"), config);
    return new ClusterExecutors(new ClusterDirectory(file), 2, 1);
  }

  @Test
  void eachConfiguredClusterHasThreadsOfItsOwnForEachPurpose() throws IOException {
    try (ClusterExecutors executors =
        executors(
            """
            [{"clusterID": "a", "monitors": ["m"]}, {"clusterID": "b", "monitors": ["m"]}]
            """)) {
      Set<Executor> all = new HashSet<>();
      for (String cluster : new String[] {"a", "b", "a", "b"}) {
        all.add(executors.calls(Storage.RBD, cluster));
        all.add(executors.calls(Storage.CEPHFS, cluster));
        all.add(executors.longWork(cluster));
        all.add(executors.reads(Storage.RBD, cluster));
        all.add(executors.reads(Storage.CEPHFS, cluster));
      }
      all.add(executors.lists(Storage.RBD));
      all.add(executors.lists(Storage.CEPHFS));
      assertThat(all).hasSize(12);
    }
  }

  @Test
  void idsThatAreNotConfiguredMakeNoPools() throws IOException {
    try (ClusterExecutors executors =
        executors("[{\"clusterID\": \"a\", \"monitors\": [\"m\"]}]")) {
      Set<Executor> all = new HashSet<>();
      for (int i = 0; i < 1000; i++) {
        all.add(executors.calls(Storage.RBD, "nobody-" + i));
      }
      assertThat(all).hasSize(1).doesNotContain(executors.calls(Storage.RBD, "a"));
    }
  }

  @Test
  void aClusterThatIsConfiguredLaterGetsItsOwn() throws IOException {
    try (ClusterExecutors executors = executors("[]")) {
      Executor before = executors.calls(Storage.RBD, "later");
      Files.writeString(
          folder.resolve("config.json"), "[{\"clusterID\": \"later\", \"monitors\": [\"m\"]}]");
      assertThat(executors.calls(Storage.RBD, "later")).isNotSameAs(before);
    }
  }
}
