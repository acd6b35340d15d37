package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class MountTableTest {
  private static final String TEXT =
      """
      22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
      30 22 7:0 / /stage/a\\040b rw,noatime shared:2 master:1 - xfs /dev/loop0 rw,attr2
      31 22 7:0 / /pods/one ro,relatime - xfs /dev/loop0 rw,attr2
      32 22 0:6 /loop1 /stage/block rw - devtmpfs devtmpfs rw,size=4k
      33 22 0:50 / /pods/one rw - fuse.ceph-fuse ceph-fuse ro,user_id=0
      """;

  private final MountTable table = MountTable.parse(TEXT);

  @Test
  void theLastMountAtAPathIsTheOneThatIsSeen() {
    assertThat(table.at(Path.of("/pods/one"))).get().extracting(Mount::id).isEqualTo(33);
    assertThat(table.at(Path.of("/pods/../pods/one/"))).isPresent();
    assertThat(table.at(Path.of("/pods"))).isEmpty();
  }

  @Test
  void escapedPathsAreUnderstood() {
    Mount mount = table.at(Path.of("/stage/a b")).orElseThrow();
    assertThat(mount.fsType()).isEqualTo("xfs");
    assertThat(mount.source()).isEqualTo("/dev/loop0");
    assertThat(mount.options()).containsExactlyInAnyOrder("rw", "noatime");
    assertThat(mount.superOptions()).containsExactlyInAnyOrder("rw", "attr2");
  }

  @Test
  void theRootOfABindIsKept() {
    assertThat(table.at(Path.of("/stage/block")).orElseThrow().root()).isEqualTo("/loop1");
  }

  @Test
  void mountsOfOneFileSystemAreFound() {
    assertThat(table.ofDevice("7:0")).extracting(Mount::id).containsExactly(30, 31);
  }

  @Test
  void aMountIsReadOnlyByItselfOrByItsFileSystem() {
    assertThat(table.all())
        .extracting(Mount::isReadOnly)
        .containsExactly(false, false, true, false, true);
  }

  @Test
  void aFileSystemThatTheKernelStoppedIsToldFromOneThatIsOnlyRead() {
    assertThat(failed("rw,noatime", "rw")).isFalse();
    assertThat(failed("ro,noatime", "rw")).isFalse();
    assertThat(failed("ro,noatime", "ro,norecovery")).isFalse();
    assertThat(failed("rw,noatime", "ro,errors=remount-ro")).isTrue();
    assertThat(failed("rw,noatime", "rw,emergency_ro")).isTrue();
  }

  private static boolean failed(String options, String superOptions) {
    String line = "30 22 7:0 / /stage " + options + " shared:2 - ext4 /dev/loop0 " + superOptions;
    return MountTable.parse(line).all().get(0).hasFailed();
  }

  /** In a changed root, the root itself need not be a mount. */
  @Test
  void theRealTableHasWhatItIsReadFrom() {
    assertThat(MountTable.read().at(Path.of("/proc"))).isPresent();
  }
}
