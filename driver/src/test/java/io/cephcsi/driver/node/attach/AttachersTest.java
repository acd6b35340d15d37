package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AttachersTest {
  private final Attachers attachers =
      new Attachers(
          List.of(
              new Named(AttacherKind.KRBD, Optional.of("no module rbd"), Set.of()),
              new Named(AttacherKind.FUSE, Optional.empty(), Set.of())));

  @Test
  void theFirstThatThisNodeCanDoIsTakenUnlessOneIsNamed() {
    assertThat(choose(Map.of())).isEqualTo(AttacherKind.FUSE);
    assertThat(choose(Map.of("mounter", "fuse"))).isEqualTo(AttacherKind.FUSE);
  }

  @Test
  void anotherIsTriedOnlyWhenThatIsAllowed() {
    assertRefused(Reason.FAILED_PRECONDITION, "no module rbd", Map.of("mounter", "rbd"));
    assertRefused(Reason.FAILED_PRECONDITION, "does not serve", Map.of("mounter", "rbd-nbd"));
    assertThat(choose(Map.of("mounter", "rbd", "tryOtherMounters", "true")))
        .isEqualTo(AttacherKind.FUSE);
    assertThat(choose(Map.of("mounter", "rbd", "tryOtherMounters", "1")))
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

  private AttacherKind choose(Map<String, String> context) {
    return attachers.choose(context, () -> Set.of(ImageFeature.LAYERING), false).kind();
  }

  @Test
  void anImageThatOneCannotAttachGoesToTheNextUnlessThatOneIsNamed() {
    Attachers both =
        new Attachers(
            List.of(
                new Named(AttacherKind.KRBD, Optional.empty(), Set.of(ImageFeature.JOURNALING)),
                new Named(AttacherKind.NBD, Optional.empty(), Set.of())));
    Supplier<Set<ImageFeature>> usual = () -> Set.of(ImageFeature.LAYERING);
    Supplier<Set<ImageFeature>> journaled =
        () -> Set.of(ImageFeature.LAYERING, ImageFeature.JOURNALING);
    assertThat(both.choose(Map.of(), usual, false).kind()).isEqualTo(AttacherKind.KRBD);
    assertThat(both.choose(Map.of(), journaled, false).kind()).isEqualTo(AttacherKind.NBD);
    assertThat(both.choose(Map.of("mounter", "rbd"), usual, false).kind())
        .isEqualTo(AttacherKind.KRBD);
    assertThat(
            both.choose(Map.of("mounter", "rbd", "tryOtherMounters", "true"), journaled, false)
                .kind())
        .isEqualTo(AttacherKind.NBD);
    assertThatThrownBy(() -> both.choose(Map.of("mounter", "rbd"), journaled, false))
        .hasMessageContaining("journaling")
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
    Attachers one = new Attachers(both.all().subList(0, 1));
    assertThatThrownBy(() -> one.choose(Map.of(), journaled, false))
        .hasMessageContaining("journaling")
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @Test
  void theKernelTellsWhichFeaturesItKnows(@TempDir Path bus) throws IOException {
    Attacher krbd = new KrbdAttacher(bus, new CrushLocation(Map.of()));
    Supplier<Set<ImageFeature>> journaled =
        () -> Set.of(ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING);
    assertThat(krbd.hindrance(journaled, false)).as("before Linux 4.11").isEmpty();
    Path file = bus.resolve("supported_features");
    Files.writeString(file, "0x1bf\n");
    assertThat(krbd.hindrance(journaled, false).orElseThrow())
        .contains("journaling")
        .doesNotContain("layering", "exclusive-lock");
    assertThat(krbd.hindrance(journaled, true)).as("for a reader").isEmpty();
    assertThat(
            krbd.hindrance(
                () ->
                    Set.of(
                        ImageFeature.LAYERING,
                        ImageFeature.STRIPINGV2,
                        ImageFeature.EXCLUSIVE_LOCK,
                        ImageFeature.OBJECT_MAP,
                        ImageFeature.FAST_DIFF,
                        ImageFeature.DEEP_FLATTEN,
                        ImageFeature.DATA_POOL,
                        ImageFeature.OPERATIONS),
                false))
        .isEmpty();
    Files.writeString(file, "0x1\n");
    Supplier<Set<ImageFeature>> spread =
        () -> Set.of(ImageFeature.LAYERING, ImageFeature.DATA_POOL);
    assertThat(krbd.hindrance(spread, true).orElseThrow()).contains("data-pool");
    Files.writeString(file, "what?\n");
    assertThat(krbd.hindrance(journaled, false)).isEmpty();
  }

  private void assertRefused(Reason reason, String text, Map<String, String> context) {
    assertThatThrownBy(() -> choose(context))
        .hasMessageContaining(text)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  /** One that attaches nothing. */
  private record Named(AttacherKind kind, Optional<String> unavailable, Set<ImageFeature> unknown)
      implements Attacher {
    @Override
    public Optional<String> hindrance(Supplier<Set<ImageFeature>> features, boolean readOnly) {
      return features.get().stream()
          .filter(unknown::contains)
          .map(feature -> "unknown: " + feature.cephName())
          .findFirst();
    }

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
