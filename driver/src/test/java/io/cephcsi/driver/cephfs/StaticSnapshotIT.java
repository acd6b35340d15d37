package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Snapshots of directories that somebody made by hand, in a real file system. */
class StaticSnapshotIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String ONE = "f279df14-6729-4342-b82f-166f45204233";
  private static final String OTHER = "a364870e-6729-4342-b82f-166f45204233";
  private static final int MODE = 0755;

  private final String parent = "/static-" + UUID.randomUUID();
  private final String data = parent + "/data";
  private RadosCluster cluster;
  private CephFsMount mount;

  @BeforeEach
  void make() {
    cluster = CLUSTER.connect();
    mount = CephFsMount.mount(cluster, CLUSTER.fileSystem(), "/");
    mount.makeDirectories(data, MODE);
    mount.makeDirectory(parent + "/.snap/" + ONE, MODE);
    mount.makeDirectory(parent + "/.snap/" + OTHER, MODE);
    mount.makeDirectory(data + "/.snap/own", MODE);
  }

  @AfterEach
  void remove() {
    mount.removeDirectory(data + "/.snap/own");
    mount.removeDirectory(parent + "/.snap/" + ONE);
    mount.removeDirectory(parent + "/.snap/" + OTHER);
    mount.removeDirectory(data);
    mount.removeDirectory(parent);
    mount.close();
    cluster.close();
  }

  private static String path(String root, String id) {
    try (RadosCluster cluster = CLUSTER.connect();
        CephFsMount mount = CephFsMount.mount(cluster, CLUSTER.fileSystem(), root)) {
      String path = StaticSnapshot.path(mount, id);
      assertThat(mount.find("/" + path)).isPresent();
      return path;
    }
  }

  @Test
  void aPartOfANameThatIsClearIsEnough() {
    assertThat(path(data, "own")).isEqualTo(".snap/own");
    assertThat(path(parent, ONE)).isEqualTo(".snap/" + ONE);
    assertThat(path(parent, "f279df14")).isEqualTo(".snap/" + ONE);
  }

  @Test
  void aSnapshotOfADirectoryAboveIsFoundByWhatItShowsAs() {
    assertThat(path(data, ONE)).startsWith(".snap/_" + ONE + "_");
  }

  @ParameterizedTest
  @CsvSource({
    "6729-4342-b82f-166f45204233, INVALID_ARGUMENT, matches several snapshots",
    "nonesuch, NOT_FOUND, matches no snapshot",
    "../data, INVALID_ARGUMENT, cannot be part of the name of a snapshot"
  })
  void whatIsNotClearIsRefused(String id, VolumeException.Reason reason, String message) {
    assertThatExceptionOfType(VolumeException.class)
        .isThrownBy(() -> path(data, id))
        .withMessageContaining(message)
        .matches(e -> e.reason() == reason);
  }
}
