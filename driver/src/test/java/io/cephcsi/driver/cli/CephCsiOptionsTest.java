package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;

class CephCsiOptionsTest {
  /** Has them as serve does. */
  private static final class Serve {
    @ArgGroup(validate = false, heading = "")
    private final CephCsiOptions options = new CephCsiOptions();
  }

  private static CephCsiOptions parse(String... args) {
    return CommandLine.populateCommand(new Serve(), args).options;
  }

  @Test
  void whatIsAskedForAndNotServedIsNamed() {
    assertThat(parse("--pidlimit=-1", "--enableprofiling", "--enable-fencing=true").notServed())
        .containsExactly("--enable-fencing", "--enableprofiling");
  }

  @Test
  void whatIsSwitchedOffOrDoneAlwaysIsNotNamed() {
    assertThat(
            parse(
                    "--enableprofiling=false",
                    "--enable-fencing=false",
                    "--forcecephkernelclient=true",
                    "--skipforceflatten",
                    "--logtostderr",
                    "--vmodule=a=1")
                .notServed())
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--enableprofiling=ja", "--skipforceflatten=2", "--logtostderr=", "--nobody"})
  void aBooleanThatIsNoneAndAnUnknownOptionAreErrors(String arg) {
    assertThatThrownBy(() -> parse(arg)).isInstanceOf(CommandLine.ParameterException.class);
  }

  @Test
  void timesAreThoseOfGo() {
    assertThat(GoDuration.parse("--x", "1h2m3s4ms"))
        .isEqualTo(Duration.ofHours(1).plusMinutes(2).plusSeconds(3).plusMillis(4));
    assertThat(GoDuration.parse("--x", "0")).isZero();
    assertThat(GoDuration.parse("--x", "0s")).isZero();
    assertThatThrownBy(() -> GoDuration.parse("--x", "30")).isInstanceOf(ConfigException.class);
    assertThatThrownBy(() -> GoDuration.parse("--x", "")).isInstanceOf(ConfigException.class);
    assertThat(parse("--polltime=5s").pollTime()).hasSeconds(5);
    assertThatThrownBy(() -> parse("--timeout=0s")).hasMessageContaining("--timeout");
  }
}
