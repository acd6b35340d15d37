package io.cephcsi.driver.app;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/**
 * Options that deployments of ceph-csi give and that this driver takes without needing them, so
 * that such a deployment starts with its arguments unchanged.
 */
final class PeerOptions {
  private static final Logger LOG = LoggerFactory.getLogger(PeerOptions.class);
  private static final Pattern GO_DURATION = Pattern.compile("(\\d+)(ms|s|m|h)");

  private boolean given;
  private Duration pollTime = Duration.ofSeconds(60);
  private Duration timeout = Duration.ofSeconds(3);

  @Option(
      names = {
        "--crush-location-labels",
        "--domainlabels",
        "--drivernamespace",
        "--histogramoption",
        "--kernelmountoptions",
        "--fusemountoptions",
        "--kms-config",
        "--logslowopinterval",
        "--metricsip",
        "--metricspath",
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
      LOG.info("options that this driver does not need were given; they have no effect");
    }
  }

  private static Duration duration(String option, String text) {
    Matcher matcher = GO_DURATION.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new ConfigException(option + " must be a time such as 60s, not " + text);
    }
    long number = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(number);
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      default -> Duration.ofHours(number);
    };
  }
}
