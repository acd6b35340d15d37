package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import org.junit.jupiter.api.Test;

class MapOptionsTest {
  @Test
  void eachAttacherGetsItsOwn() {
    String text = "krbd:lock_on_read,queue_depth=1024;nbd:try-netlink;fuse:rbd_op_threads=2";
    assertThat(MapOptions.of(text, AttacherKind.KRBD)).isEqualTo("lock_on_read,queue_depth=1024");
    assertThat(MapOptions.of(text, AttacherKind.NBD)).isEqualTo("try-netlink");
    assertThat(MapOptions.of(text, AttacherKind.FUSE)).isEqualTo("rbd_op_threads=2");
  }

  @Test
  void withoutANameTheyAreForTheKernel() {
    assertThat(MapOptions.of("noudev", AttacherKind.KRBD)).isEqualTo("noudev");
    assertThat(MapOptions.of("noudev", AttacherKind.FUSE)).isEmpty();
    assertThat(MapOptions.of("", AttacherKind.FUSE)).isEmpty();
  }

  @Test
  void anUnknownAttacherIsInvalid() {
    assertThatThrownBy(() -> MapOptions.of("iscsi:x", AttacherKind.KRBD))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT));
  }
}
