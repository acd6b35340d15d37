package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StagingMountPathTest {
  private static final Path STAGING = Path.of("/staging");

  @Test
  void aNameHas255Bytes() {
    String longest = "v".repeat(255);
    assertThat(StagingMountPath.of(STAGING, longest)).contains(STAGING.resolve(longest));
    assertThat(StagingMountPath.of(STAGING, longest + "v")).isEmpty();
    assertThat(StagingMountPath.of(STAGING, "\u00e9".repeat(128))).isEmpty(); // of 2 bytes each
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "a/b", "image-meta.json", "image-meta.json.new"})
  void whatIsNoNameOfAVolumeIsRefused(String id) {
    assertThat(StagingMountPath.of(STAGING, id)).isEmpty();
    assertThatThrownBy(() -> StagingMountPath.require(STAGING, id))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("volume_id");
  }
}
