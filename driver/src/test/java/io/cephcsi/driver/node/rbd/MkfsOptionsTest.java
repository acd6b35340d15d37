package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MkfsOptionsTest {
  @Test
  void optionsBecomeOneWordEach() {
    assertThat(MkfsOptions.of("ext4", " -m 0 -Enodiscard,stride=4 -qj -O ^has_journal,64bit "))
        .containsExactly("-m0", "-Enodiscard,stride=4", "-q", "-j", "-O^has_journal,64bit");
    assertThat(MkfsOptions.of("xfs", "-K -m crc=1,reflink=0 -d agcount=4"))
        .containsExactly("-K", "-mcrc=1,reflink=0", "-dagcount=4");
    assertThat(MkfsOptions.of("xfs", " ")).isEmpty();
  }

  @Test
  void whetherItMayFormatIsNotTheUsersToSay() {
    assertThat(MkfsOptions.of("ext4", "-qF")).containsExactly("-q");
    assertThat(MkfsOptions.of("xfs", "-f -K")).containsExactly("-K");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ext4 | -m0 -Ediscard -i1024",
        "ext4 | -b 4096 -I 256 -N 100000 -G 16 -g 32768 -C 64k -T largefile,small -L data",
        "ext4 | -E lazy_itable_init=0,lazy_journal_init,packed_meta_blocks=1,stripe_width=64",
        "ext4 | -J size=64 -m 0.5 -U random -E quotatype=usrquota:prjquota,root_owner=0:1000",
        "xfs  | -b size=4k -s size=512 -i size=512,maxpct=25 -n size=64k,ftype=1 -L data",
        "xfs  | -l size=64m,su=32k,lazy-count=1,version=2 -d su=64k,sw=4 -m bigtime=1 -q",
      })
  void whatShapesTheFileSystemIsAllowed(String kind, String text) {
    assertThat(MkfsOptions.of(kind, text)).isNotEmpty();
    MkfsOptions.require("", text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-d /etc",
        "-d/etc",
        "-z /tmp/undo",
        "-l /etc/passwd",
        "-qd /etc",
        "-n",
        "-S",
        "-c",
        "-V",
        "-o hurd",
        "-t ext2",
        "-O journal_dev",
        "-O ^journal_dev",
        "-J device=/dev/sda",
        "-J size=4,device=/dev/sda",
        "-E offset=4096",
        "-E stride=4,no_copy_xattrs,x",
        "-E",
        "-b",
        "-b -d",
        "/etc",
        "--",
        "-",
        "-p /etc/passwd",
        "-c options=/etc/passwd",
        "-r rtdev=/dev/sda",
        "-l logdev=/dev/sda",
        "-d name=/etc/passwd",
        "-d file=1",
        "-d agcount=4,file,name=/x",
        "-N",
        "-m 0 /dev/sda",
        "-L a\u0000b",
        "-L $(id)"
      })
  void allElseIsInvalid(String text) {
    for (String kind : new String[] {"ext4", "xfs", ""}) {
      assertThatThrownBy(() -> MkfsOptions.require(kind, text))
          .hasMessageStartingWith("mkfsOptions")
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
    }
  }
}
