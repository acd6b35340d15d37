package io.cephcsi.bindings.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.ChildJvm;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NativeLibrariesTest {
  /** Stands for a destructor that aborts the process; 134 would be its exit code. */
  static final class Ends {
    private Ends() {}

    public static void main(String[] how) {
      assertThat(LibRbd.has("rbd_open")).isTrue();
      LibC.on_exit(LibC.address("abort"), 0);
      switch (how[0]) {
        case "exit" -> System.exit(7);
        case "halt in a hook" -> {
          Runtime.getRuntime()
              .addShutdownHook(
                  new Thread(
                      () -> {
                        try {
                          TimeUnit.SECONDS.sleep(1); // as a driver, which closes what is open
                        } catch (InterruptedException e) {
                          throw new IllegalStateException(e);
                        }
                        Runtime.getRuntime().halt(7);
                      }));
          System.exit(1);
        }
        default -> throw new IllegalStateException(how[0]);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"exit", "halt in a hook"})
  void aProcessThatEndsDestroysNothingThatItsThreadsMayStillUse(String how)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(ChildJvm.command(List.of(), Ends.class, how)).inheritIO().start();
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(process.exitValue()).isEqualTo(7);
  }
}
