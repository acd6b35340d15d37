package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class VolumeCapabilitiesTest {
  private static final Set<Mode> SINGLE_NODE =
      EnumSet.of(
          Mode.SINGLE_NODE_WRITER,
          Mode.SINGLE_NODE_READER_ONLY,
          Mode.SINGLE_NODE_SINGLE_WRITER,
          Mode.SINGLE_NODE_MULTI_WRITER);

  @ParameterizedTest
  @EnumSource(Mode.class)
  void blockVolumesCanHaveEveryMode(Mode mode) {
    boolean supported = mode != Mode.UNKNOWN && mode != Mode.UNRECOGNIZED;
    assertThat(unsupported(block(mode), false).isEmpty()).isEqualTo(supported);
    assertThat(unsupported(block(mode), true).isEmpty()).isEqualTo(supported);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void anEmptyMountedVolumeIsForOneNode(Mode mode) {
    assertThat(unsupported(mount(mode), false).isEmpty()).isEqualTo(SINGLE_NODE.contains(mode));
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void aMountedVolumeWithContentCanBeReadByManyNodesToo(Mode mode) {
    assertThat(unsupported(mount(mode), true).isEmpty())
        .isEqualTo(SINGLE_NODE.contains(mode) || mode == Mode.MULTI_NODE_READER_ONLY);
  }

  @Test
  void theReasonNamesTheMode() {
    for (Mode mode :
        List.of(
            Mode.MULTI_NODE_READER_ONLY,
            Mode.MULTI_NODE_SINGLE_WRITER,
            Mode.MULTI_NODE_MULTI_WRITER)) {
      assertThat(unsupported(mount(mode), false).orElseThrow()).contains(mode.name());
    }
  }

  @Test
  void oneOfSeveralThatCannotBeIsEnough() {
    assertThat(
            VolumeCapabilities.unsupported(
                List.of(mount(Mode.SINGLE_NODE_WRITER), mount(Mode.MULTI_NODE_MULTI_WRITER)),
                false))
        .isPresent();
    assertThat(
            VolumeCapabilities.unsupported(
                List.of(mount(Mode.SINGLE_NODE_WRITER), mount(Mode.SINGLE_NODE_READER_ONLY)),
                false))
        .isEmpty();
  }

  @Test
  void blockAndMountAtOnceCannotBe() {
    assertThat(
            VolumeCapabilities.unsupported(
                List.of(block(Mode.SINGLE_NODE_WRITER), mount(Mode.SINGLE_NODE_WRITER)), false))
        .hasValueSatisfying(reason -> assertThat(reason).contains("not both"));
  }

  @Test
  void whatIsMissingIsNamed() {
    assertMissing("volume_capabilities", List.of());
    assertMissing(
        "access_type",
        List.of(
            VolumeCapability.newBuilder()
                .setAccessMode(mount(Mode.SINGLE_NODE_WRITER).getAccessMode())
                .build()));
    assertMissing("access_mode", List.of(mount(Mode.UNKNOWN)));
    assertMissing(
        "access_mode",
        List.of(
            mount(Mode.SINGLE_NODE_WRITER),
            VolumeCapability.newBuilder()
                .setBlock(VolumeCapability.BlockVolume.getDefaultInstance())
                .build()));
    assertThatCode(
            () -> VolumeCapabilities.requireComplete(List.of(block(Mode.SINGLE_NODE_WRITER))))
        .doesNotThrowAnyException();
  }

  private static void assertMissing(String field, List<VolumeCapability> capabilities) {
    assertThatThrownBy(() -> VolumeCapabilities.requireComplete(capabilities))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(field);
  }

  private static Optional<String> unsupported(VolumeCapability capability, boolean fromSource) {
    return VolumeCapabilities.unsupported(List.of(capability), fromSource);
  }

  private static VolumeCapability block(Mode mode) {
    return mode(
        VolumeCapability.newBuilder().setBlock(VolumeCapability.BlockVolume.getDefaultInstance()),
        mode);
  }

  private static VolumeCapability mount(Mode mode) {
    return mode(
        VolumeCapability.newBuilder().setMount(VolumeCapability.MountVolume.getDefaultInstance()),
        mode);
  }

  private static VolumeCapability mode(VolumeCapability.Builder capability, Mode mode) {
    VolumeCapability.AccessMode.Builder access = VolumeCapability.AccessMode.newBuilder();
    if (mode == Mode.UNRECOGNIZED) {
      access.setModeValue(4711);
    } else {
      access.setMode(mode);
    }
    return capability.setAccessMode(access).build();
  }
}
