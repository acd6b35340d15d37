package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CephCommandTest {
  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "a/b", "\0", "a\0b", "a\nb", "\u202Ea"})
  void aNameThatCouldMeanSomethingElseIsNotSent(String name) {
    for (Object value : List.of(name, List.of("a", name))) {
      assertThatThrownBy(() -> CephCommand.of("fs subvolume rm", Map.of("sub_name", value)))
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
          .hasMessageStartingWith("no \"fs subvolume rm\": sub_name must");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "rbd/a\0", "rbd/a\n"})
  void otherTextsArePlainToo(String text) {
    assertThatThrownBy(
            () -> CephCommand.of("rbd task add trash remove", Map.of("image_id_spec", text)))
        .hasMessageStartingWith("no \"rbd task add trash remove\": image_id_spec must");
  }

  @Test
  void theRestIsSentAsItIs() {
    assertThat(CephCommand.of("x", Map.of("image_spec", "rbd/ns/image")))
        .hasToString("{\"prefix\":\"x\",\"format\":\"json\",\"image_spec\":\"rbd/ns/image\"}");
    assertThat(CephCommand.of("x", Map.of("force", true)))
        .hasToString("{\"prefix\":\"x\",\"format\":\"json\",\"force\":true}");
  }

  @Test
  void tellsWhichFileSystemItIsOn() {
    assertThat(CephCommand.of("fs subvolume ls", Map.of("vol_name", "a")).fileSystem())
        .hasValue("a");
    assertThat(CephCommand.of("rbd task list", Map.of()).fileSystem()).isEmpty();
  }
}
