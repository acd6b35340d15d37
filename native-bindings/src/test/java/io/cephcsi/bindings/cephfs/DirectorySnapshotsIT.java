package io.cephcsi.bindings.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class DirectorySnapshotsIT extends CephFsCase {
  @Test
  void aSnapshotKeepsWhatWasThere() {
    Instant before = Instant.now().minusSeconds(5);
    try (CephFsFile file = mount.createFile(directory + "/file", 0644)) {
      file.write(0, "old".getBytes(UTF_8));
      file.flush();
    }
    DirectorySnapshots snapshots = mount.snapshots(directory);
    assertThat(snapshots.names()).isEmpty();
    assertThat(snapshots.exists("s1")).isFalse();
    assertThat(snapshots.createdAt("s1")).isEmpty();
    mount.makeDirectory(snapshots.path("s1"), 0755);
    mount.makeDirectory(snapshots.path("s2"), 0755);
    try (CephFsFile file = mount.createFile(directory + "/file", 0644)) {
      file.write(0, "new".getBytes(UTF_8));
    }
    assertThat(snapshots.names()).containsExactlyInAnyOrder("s1", "s2");
    assertThat(snapshots.createdAt("s1").orElseThrow())
        .isBetween(before, Instant.now().plusSeconds(5));
    try (CephFsFile file = mount.openFile(snapshots.path("s1") + "/file")) {
      assertThat(file.read(0, 10)).isEqualTo("old".getBytes(UTF_8));
    }
    mount.removeDirectory(snapshots.path("s1"));
    mount.removeDirectory(snapshots.path("s2"));
    assertThat(snapshots.names()).isEmpty();
    assertThat(snapshots.exists("s1")).isFalse();
  }

  @Test
  void snapshotsOfParentsAreLeftOut() {
    mount.makeDirectory(directory + "/sub", 0755);
    mount.makeDirectory(directory + "/.snap/of-parent", 0755);
    assertThat(mount.names(directory + "/sub/.snap")).hasSize(1);
    assertThat(mount.snapshots(directory + "/sub").names()).isEmpty();
    mount.removeDirectory(directory + "/.snap/of-parent");
  }

  @Test
  void aSubvolumesDataIsFoundAlsoIfOnlySnapshotsAreRetained() {
    String name = "sub" + directory.substring(1);
    fs("create", name, "--size", "41943040");
    String path = fs("getpath", name).strip();
    String uuid = path.substring(path.lastIndexOf('/') + 1);
    fs("snapshot", "create", name, "s1");
    DirectorySnapshots snapshots = mount.snapshots("/" + name);
    String expected = "/" + name + "/.snap/s1/" + uuid;
    assertThat(snapshots.contents("s1")).containsExactly(expected);
    assertThat(mount.usage(expected).quotaBytes()).hasValue(41943040);

    fs("rm", name, "--retain-snapshots");
    assertThat(snapshots.contents("s1")).containsExactly(expected);
    assertThat(mount.status(expected).isDirectory()).isTrue();
    fs("snapshot", "rm", name, "s1");
    assertThatThrownBy(() -> snapshots.contents("s1")).isInstanceOf(CephException.NotFound.class);
  }

  /** {@code ceph fs subvolume VERB [VERB] cephfs NAME [SNAPSHOT] csi [OPTION...]}. */
  private static String fs(String verb, String... rest) {
    java.util.List<String> args = new java.util.ArrayList<>(java.util.List.of("fs", "subvolume"));
    args.add(verb);
    int positional = verb.equals("snapshot") ? 3 : 1;
    if (verb.equals("snapshot")) {
      args.add(rest[0]);
    }
    args.add("cephfs");
    for (int i = verb.equals("snapshot") ? 1 : 0; i < rest.length; i++) {
      if (i == positional) {
        args.add("csi");
      }
      args.add(rest[i]);
    }
    if (rest.length <= positional) {
      args.add("csi");
    }
    return CEPH.ceph(args.toArray(String[]::new));
  }
}
