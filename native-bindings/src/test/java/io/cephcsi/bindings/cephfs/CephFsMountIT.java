package io.cephcsi.bindings.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class CephFsMountIT extends CephFsCase {
  @Test
  void itKnowsWhatIsMounted() {
    assertThat(mount.fileSystem()).isEqualTo(CEPH.fileSystem());
    assertThat(mount.root()).isEqualTo(ROOT);
    assertThat(mount.instanceId()).isNotEqualTo(cluster.instanceId()).isPositive();
    assertThat(CEPH.ceph("fs", "dump", "--format", "json"))
        .contains("\"id\":" + mount.fileSystemId());
  }

  @Test
  void aForbiddenRootIsDeniedAndAMissingRootIsNotFound() {
    try (RadosCluster user = connectAs(CEPH.cephFsUser())) {
      assertThatThrownBy(() -> CephFsMount.mount(user, CEPH.fileSystem(), ROOT + "/no-such"))
          .isInstanceOf(CephException.NotFound.class)
          .hasMessageContaining("ceph_mount cephfs:/volumes/csi/no-such");
      assertThatThrownBy(() -> CephFsMount.mount(user, "no-such-fs", "/"))
          .isInstanceOf(CephException.class);
      if (!CEPH.cephFsUser().equals("admin")) {
        assertThatThrownBy(() -> CephFsMount.mount(user, CEPH.fileSystem(), "/"))
            .isInstanceOf(CephException.Denied.class);
      }
    } // closes: nothing of the attempts is left
  }

  @Test
  void aConnectionStaysOpenWhileItIsMounted() {
    try (RadosCluster user = connectAs(CEPH.cephFsUser())) {
      CephFsMount second = CephFsMount.mount(user, CEPH.fileSystem(), ROOT);
      assertThatThrownBy(user::close).isInstanceOf(IllegalStateException.class);
      second.close();
      assertThatThrownBy(() -> second.status("/")).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void statusSaysWhatAPathIs() {
    Instant before = Instant.now().minusSeconds(5);
    mount.makeDirectory(directory + "/sub", 0750);
    try (CephFsFile file = mount.createFile(directory + "/file", 0640)) {
      file.write(0, new byte[1234]);
      file.flush();
    }
    FileStatus sub = mount.status(directory + "/sub");
    assertThat(sub.isDirectory()).isTrue();
    assertThat(sub.isFile()).isFalse();
    assertThat(sub.permissions()).isEqualTo(0750);
    FileStatus file = mount.status(directory + "/file");
    assertThat(file.isFile()).isTrue();
    assertThat(file.size()).isEqualTo(1234);
    assertThat(file.permissions()).isEqualTo(0640);
    assertThat(file.inode()).isNotZero().isNotEqualTo(sub.inode());
    assertThat(file.createdAt()).isBetween(before, Instant.now().plusSeconds(5));
    assertThat(file.modifiedAt()).isAfterOrEqualTo(file.createdAt());
    assertThat(mount.find(directory + "/none")).isEmpty();
    assertThatThrownBy(() -> mount.status(directory + "/none"))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessageContaining("ceph_statx cephfs:" + ROOT + directory + "/none");
  }

  @Test
  void directoriesAndFilesAreMadeMovedAndRemoved() {
    mount.makeDirectories(directory + "/a/b/c", 0755);
    mount.makeDirectories(directory + "/a/b/c", 0755); // they are there
    assertThat(mount.names(directory + "/a")).containsExactly("b");
    assertThatThrownBy(() -> mount.makeDirectory(directory + "/a", 0755))
        .isInstanceOf(CephException.AlreadyExists.class);
    mount.createFile(directory + "/f", 0644).close();
    mount.rename(directory + "/f", directory + "/a/g");
    assertThat(mount.names(directory + "/a")).containsExactlyInAnyOrder("b", "g");
    mount.removeFile(directory + "/a/g");
    mount.removeDirectory(directory + "/a/b/c");
    assertThat(mount.names(directory + "/a/b")).isEmpty();
  }

  @Test
  void attributesOfEverySizeAreReadAndWritten() {
    for (int length : List.of(0, 1, 255, 256, 257, 5000)) {
      byte[] value = "x".repeat(length).getBytes(UTF_8);
      mount.setAttribute(directory, "user.test", value);
      assertThat(mount.attribute(directory, "user.test")).as(length + " bytes").hasValue(value);
    }
    mount.removeAttribute(directory, "user.test");
    assertThat(mount.attribute(directory, "user.test")).isEmpty();
    assertThatThrownBy(() -> mount.attribute(directory + "/none", "user.test"))
        .isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void aQuotaIsSetSeenByOthersAndTakenAway() {
    assertThat(mount.usage(directory).quotaBytes()).isEmpty();
    String subvolume = "quota" + directory.substring(1);
    CEPH.ceph("fs", "subvolume", "create", "cephfs", subvolume, "csi", "--size", "41943040");
    String path =
        CEPH.ceph("fs", "subvolume", "getpath", "cephfs", subvolume, "csi")
            .strip()
            .substring(ROOT.length());
    assertThat(mount.usage(path).quotaBytes()).isEqualTo(OptionalLong.of(41943040));
    try (CephFsMount own = CephFsMount.mount(cluster, CEPH.fileSystem(), ROOT + path)) {
      assertThat(own.space().totalBytes()).isEqualTo(41943040);
      assertThat(own.space().availableBytes()).isEqualTo(41943040);
    }
    if (!CEPH.cephFsUser().equals("admin")) {
      assertThatThrownBy(() -> mount.setQuotaBytes(path, 83886080))
          .isInstanceOf(CephException.Denied.class); // the manager's work, not the provisioner's
    }
    setQuota(path, 83886080);
    assertThat(CEPH.ceph("fs", "subvolume", "info", "cephfs", subvolume, "csi"))
        .contains("\"bytes_quota\": 83886080");
    setQuota(path, 0);
    assertThat(mount.usage(path).quotaBytes()).isEmpty();
    assertThat(mount.usage(path).quotaFiles()).isEmpty();
    CEPH.ceph("fs", "subvolume", "rm", "cephfs", subvolume, "csi");
  }

  private static void setQuota(String path, long bytes) {
    try (RadosCluster admin = connectAs("admin");
        CephFsMount other = CephFsMount.mount(admin, CEPH.fileSystem(), ROOT)) {
      other.setQuotaBytes(path, bytes);
    }
  }

  @Test
  void usageCountsWhatIsBelow() {
    mount.makeDirectory(directory + "/sub", 0755);
    for (int i = 0; i < 3; i++) {
      try (CephFsFile file = mount.createFile(directory + "/sub/" + i, 0644)) {
        file.write(0, new byte[10_000]);
      }
    }
    mount.sync();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () -> {
              DirectoryUsage usage = mount.usage(directory);
              assertThat(usage.bytes()).isEqualTo(30_000);
              assertThat(usage.files()).isEqualTo(3);
              assertThat(usage.directories()).isPositive();
            });
    assertThat(mount.space().availableBytes()).isPositive();
    assertThat(mount.space().files()).isPositive();
  }
}
