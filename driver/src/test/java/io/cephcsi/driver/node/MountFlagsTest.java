package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MountFlagsTest {
  private static final String CONTEXT = "context=\"system_u:object_r:container_file_t:s0:c1,c2\"";

  private static VolumeUse use(String fsType, String... flags) {
    return new VolumeUse(false, fsType, List.of(flags), "", false, false, false);
  }

  @Test
  void flagsArePartedAtCommasThatAreNotQuoted() {
    VolumeUse use = use("ext4", "noatime, ro", "nodev," + CONTEXT);
    assertThat(use.mountFlags()).containsExactly("noatime", "ro", "nodev", CONTEXT);
    assertThat(use.mountedReadOnly()).isTrue();
    MountFlags.require(use);
  }

  @Test
  void nothingTakesARestrictionBack() {
    assertThat(use("", "ro,rw", "nosuid,defaults,").mountFlags()).containsExactly("ro", "nosuid");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "noatime,nodiratime,discard",
        "lazytime,nosuid,nodev,noexec,sync,dirsync",
        "_netdev,nofail,relatime",
      })
  void whatEveryFileSystemHasIsAllowed(String flags) {
    MountFlags.require(use("ext4", flags));
    MountFlags.require(use("xfs", flags));
    MountFlags.require(use("ext4", "data=ordered,commit=30,barrier=1,errors=remount-ro,noload"));
    MountFlags.require(use("xfs", "allocsize=64k,logbufs=8,logbsize=256k,nouuid,prjquota,inode64"));
    MountFlags.require(use("", "nouuid", "stripe=4"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "loop",
        "loop=/dev/loop0",
        "offset=4096",
        "subtype=x",
        "name=x",
        "secret=AQB",
        "remount",
        "bind",
        "rbind",
        "move",
        "rshared",
        "user",
        "users",
        "owner",
        "uid=0",
        "helper=x",
        "uhelper=x",
        "x-mount.mkdir",
        "X-mount.subdir=/etc",
        "X-mount.idmap=/proc/1/ns/user",
        "journal_path=/dev/sda",
        "journal_dev=0x801",
        "usrjquota=aquota.user",
        "jqfmt=vfsv1",
        "sb=32768",
        "errors=panic",
        "logdev=/dev/sda",
        "rtdev=/dev/sda",
        "context=/etc/passwd",
        "context=a:b:c,loop",
        "no\natime",
        "noatime\u0000",
        "commit",
        "commit=x",
        "-o",
        "--",
        "verity.roothash=x"
      })
  void allElseIsInvalidAndNamedWithoutItsValue(String flag) {
    for (String kind : List.of("ext4", "xfs", "")) {
      for (String given : List.of(flag, "noatime," + flag)) {
        assertThatThrownBy(() -> MountFlags.require(use(kind, given)))
            .hasMessageStartingWith("mount_flags: ")
            .hasMessageNotContainingAny("AQB", "\n", "\u0000")
            .isInstanceOfSatisfying(
                VolumeException.class,
                e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
      }
    }
    assertThatThrownBy(() -> use("", "context=\"a"))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("pairs");
  }

  @Test
  void aMountThatIsRefusedForItsOptionsIsNoFaultOfTheDriver() {
    String said = "mount ended with exit code 32: wrong fs type, bad option, bad superblock on x";
    assertThat(MountFlags.explained(new CommandException(said, 32)))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.FAILED_PRECONDITION));
    CommandException other = new CommandException("mount: Structure needs cleaning", 32);
    assertThat(MountFlags.explained(other)).isSameAs(other);
  }
}
