package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchRuntimeException;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class UnfinishedStagingTest {
  private static RuntimeException failure(boolean left, RuntimeException reason) {
    return catchRuntimeException(
        () ->
            UnfinishedStaging.attempt(
                () -> {
                  throw reason;
                },
                () -> left));
  }

  @ParameterizedTest
  @EnumSource
  void afterAnErrorThatLeavesSomethingKubeletIsNotSure(Reason reason) {
    VolumeException error = new VolumeException(reason, "refused");
    assertThat(failure(false, error)).isSameAs(error);
    RuntimeException other = failure(true, error);
    Reason shown = ((VolumeException) other).reason();
    switch (reason) {
      case INVALID_ARGUMENT, ALREADY_EXISTS, ABORTED, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED ->
          assertThat(shown).isEqualTo(reason);
      default -> assertThat(shown).isEqualTo(Reason.UNAVAILABLE);
    }
    assertThat(other).hasMessageStartingWith("refused");
  }

  @Test
  void whatFailsBySomethingElseAndLeavesNothingStaysWhatItIs() {
    CephException error = new CephException("rbd_open", "image", -13, "");
    assertThat(failure(false, error)).isSameAs(error);
    assertThat(failure(true, error)).isInstanceOf(VolumeException.class).hasCause(error);
  }

  @Test
  void anErrorThatNobodyForesawIsLogged() {
    try (Logged logged = Logged.by(UnfinishedStaging.class)) {
      for (RuntimeException known :
          List.of(
              new VolumeException(Reason.FAILED_PRECONDITION, "in use"),
              new CephException("rbd_open", "image", -5, ""),
              new CommandException("mount failed", 32))) {
        assertThat(UnfinishedStaging.error(known).reason()).isEqualTo(Reason.UNAVAILABLE);
      }
      assertThat(logged.lines()).isEmpty();
      assertThat(UnfinishedStaging.error(new IllegalStateException("a bug")))
          .hasMessageContaining("a bug");
      assertThat(logged.lines()).containsExactly("ERROR unexpected failure of a staging");
      assertThat(logged.thrown()).containsExactly("a bug");
    }
  }
}
