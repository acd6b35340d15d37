package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AttachersTest {
  private final Attachers attachers =
      new Attachers(
          List.of(
              new Named(AttacherKind.KRBD, Optional.of("no module rbd")),
              new Named(AttacherKind.FUSE, Optional.empty())));

  @Test
  void theFirstThatThisNodeCanDoIsTakenUnlessOneIsNamed() {
    assertThat(attachers.choose(Map.of()).kind()).isEqualTo(AttacherKind.FUSE);
    assertThat(attachers.choose(Map.of("mounter", "fuse")).kind()).isEqualTo(AttacherKind.FUSE);
  }

  @Test
  void anotherIsTriedOnlyWhenThatIsAllowed() {
    assertRefused(Reason.FAILED_PRECONDITION, "no module rbd", Map.of("mounter", "rbd"));
    assertRefused(Reason.FAILED_PRECONDITION, "does not serve", Map.of("mounter", "rbd-nbd"));
    assertThat(attachers.choose(Map.of("mounter", "rbd", "tryOtherMounters", "true")).kind())
        .isEqualTo(AttacherKind.FUSE);
    assertThat(attachers.choose(Map.of("mounter", "rbd", "tryOtherMounters", "1")).kind())
        .isEqualTo(AttacherKind.FUSE);
    assertRefused(
        Reason.INVALID_ARGUMENT,
        "tryOtherMounters",
        Map.of("mounter", "rbd", "tryOtherMounters", "yes"));
  }

  @Test
  void whatNoNodeHasIsInvalid() {
    assertRefused(
        Reason.INVALID_ARGUMENT, "iscsi", Map.of("mounter", "iscsi", "tryOtherMounters", "true"));
  }

  private void assertRefused(Reason reason, String text, Map<String, String> context) {
    assertThatThrownBy(() -> attachers.choose(context))
        .hasMessageContaining(text)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  /** One that attaches nothing. */
  private record Named(AttacherKind kind, Optional<String> unavailable) implements Attacher {
    @Override
    public AttachedDevice attach(AttachRequest request) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<AttachedDevice> list() {
      return List.of();
    }

    @Override
    public Optional<Boolean> isOf(AttachedDevice device, AttachRequest request) {
      return Optional.empty();
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
