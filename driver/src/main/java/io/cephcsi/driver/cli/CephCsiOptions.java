package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/**
 * Options that deployments of ceph-csi give and that this driver takes without needing them, so
 * that such a deployment starts with its arguments unchanged.
 */
final class CephCsiOptions {
  private static final Logger LOG = LoggerFactory.getLogger(CephCsiOptions.class);
  private static final Pattern GO_DURATION =
      Pattern.compile("(?:(\\d{1,6})h)?(?:(\\d{1,6})m)?(?:(\\d{1,6})s)?(?:(\\d{1,6})ms)?");

  private boolean given;
  private Duration pollTime = Duration.ofSeconds(60);
  private Duration timeout = Duration.ofSeconds(3);

  @Option(
      names = {
        "--crush-location-labels",
        "--drivernamespace",
        "--histogramoption",
        "--kernelmountoptions",
        "--fusemountoptions",
        "--kms-config",
        "--logslowopinterval",
        "--mountcachedir",
        "--pidlimit",
        "--pluginpath",
        "--radosnamespacecephfs",
        "--stagingpath",
        "--log_backtrace_at",
        "--log_dir",
        "--log_file",
        "--log_file_max_size",
        "--stderrthreshold",
        "--vmodule"
      },
      hidden = true)
  void value(String ignored) {
    given = true;
  }

  @Option(
      names = {
        "--enable-read-affinity",
        "--enablegrpcmetrics",
        "--enableprofiling",
        "--forcecephkernelclient",
        "--skipforceflatten",
        "--alsologtostderr",
        "--logtostderr",
        "--one_output",
        "--skip_headers",
        "--skip_log_headers",
        "--add_dir_header"
      },
      arity = "0..1",
      fallbackValue = "true",
      hidden = true)
  void flag(boolean ignored) {
    given = true;
  }

  @Option(names = "--polltime", hidden = true)
  void pollTime(String text) {
    pollTime = duration("--polltime", text);
  }

  @Option(names = "--timeout", hidden = true)
  void timeout(String text) {
    timeout = duration("--timeout", text);
  }

  Duration pollTime() {
    return pollTime;
  }

  Duration timeout() {
    return timeout;
  }

  void warnOfIgnored() {
    if (given) {
      LOG.info(
          "options of ceph-csi were given that have no effect in this driver:"
              + " see its command line reference");
    }
  }

  private static Duration duration(String option, String text) {
    Matcher matcher = GO_DURATION.matcher(text.toLowerCase(Locale.ROOT));
    Duration duration = Duration.ZERO;
    if (matcher.matches()) {
      duration =
          Duration.ofHours(number(matcher.group(1)))
              .plusMinutes(number(matcher.group(2)))
              .plusSeconds(number(matcher.group(3)))
              .plusMillis(number(matcher.group(4)));
    }
    if (duration.isZero()) {
      throw new ConfigException(option + " must be a time such as 60s or 1m30s, not " + text);
    }
    return duration;
  }

  private static long number(@Nullable String digits) {
    return digits == null ? 0 : Integer.parseInt(digits);
  }
}
