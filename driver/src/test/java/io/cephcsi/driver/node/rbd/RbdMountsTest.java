package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.attach.AttachRequest;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attacher;
import io.cephcsi.driver.node.attach.AttacherKind;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RbdMountsTest {
  /** Whoever took it away did not unpublish the volume, and another image has its name by now. */
  @Test
  void aBindOfADeviceThatIsGoneIsNotOneOfItsSuccessor() {
    Attachers attachers = new Attachers(List.of(new OneDevice()));
    MountTable table =
        MountTable.parse(
            """
            31 22 0:6 /rbd0 /pods/new rw - devtmpfs devtmpfs rw
            32 22 0:6 /rbd0//deleted /pods/old rw - devtmpfs devtmpfs rw
            33 22 0:6 /loop0//deleted /pods/other rw - devtmpfs devtmpfs rw
            34 22 0:6 /sda//deleted /mnt rw - devtmpfs devtmpfs rw
            """);
    Mount old = table.at(Path.of("/pods/old")).orElseThrow();
    assertThat(table.all()).extracting(Mount::isGone).containsExactly(false, true, true, true);
    assertThat(attachers.byDevice(Path.of("/dev/rbd0"))).isPresent();
    assertThat(attachers.byDevice(old.blockDevice())).isEmpty();
    assertThat(table.all())
        .filteredOn(new RbdMounts(attachers)::isOfKind)
        .extracting(Mount::target)
        .containsExactly(Path.of("/pods/new"), Path.of("/pods/old"), Path.of("/pods/other"));
  }

  /** /dev/rbd0 is its only one. */
  private static final class OneDevice implements Attacher {
    @Override
    public AttacherKind kind() {
      return AttacherKind.KRBD;
    }

    @Override
    public Optional<String> unavailable() {
      return Optional.empty();
    }

    @Override
    public AttachedDevice attach(AttachRequest request) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<AttachedDevice> list() {
      ImageSpec image = new ImageSpec("rbd", "", "csi-vol-1");
      return List.of(new AttachedDevice(AttacherKind.KRBD, image, Path.of("/dev/rbd0"), true));
    }

    @Override
    public Optional<Boolean> isOf(AttachedDevice device, AttachRequest request) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void detach(ImageSpec image, String unmapOptions) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void grow(AttachedDevice device, long bytes) {
      throw new UnsupportedOperationException();
    }
  }
}
