package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/**
 * Options that deployments of ceph-csi give and that this driver takes without needing them, so
 * that such a deployment starts with its arguments unchanged.
 */
final class CephCsiOptions {
  private static final Logger LOG = LoggerFactory.getLogger(CephCsiOptions.class);

  private final Set<String> notServed = new TreeSet<>();
  private boolean given;
  private Duration pollTime = Duration.ofSeconds(60);
  private Duration timeout = Duration.ofSeconds(3);

  @Option(names = "--enableprofiling", arity = "0..1", fallbackValue = "true", hidden = true)
  void profiling(boolean enable) {
    notServed("--enableprofiling", enable);
  }

  @Option(names = "--enable-fencing", arity = "0..1", fallbackValue = "true", hidden = true)
  void fencing(boolean enable) {
    notServed("--enable-fencing", enable);
  }

  @Option(
      names = {
        "--drivernamespace",
        "--histogramoption",
        "--mountcachedir",
        "--pidlimit",
        "--pluginpath",
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
        "--enablegrpcmetrics",
        "--forcecephkernelclient", // the kernel's client is used wherever there is one
        "--skipforceflatten", // no image is flattened before it is attached
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
    pollTime = positive("--polltime", text);
  }

  @Option(names = "--timeout", hidden = true)
  void timeout(String text) {
    timeout = positive("--timeout", text);
  }

  Duration pollTime() {
    return pollTime;
  }

  Duration timeout() {
    return timeout;
  }

  /** The options that were given and ask for what this driver does not do, sorted. */
  Set<String> notServed() {
    return notServed;
  }

  private void notServed(String option, boolean asked) {
    if (asked) {
      notServed.add(option);
    } else {
      given = true;
    }
  }

  /** Says in the log which options do nothing. */
  void warnOfIgnored() {
    if (!notServed.isEmpty()) {
      LOG.warn(
          "this driver does not do what these options of ceph-csi ask for: {}",
          String.join(", ", notServed));
    }
    if (given) {
      LOG.info(
          "options of ceph-csi were given that have no effect in this driver:"
              + " see its command line reference");
    }
  }

  private static Duration positive(String option, String text) {
    Duration duration = GoDuration.parse(option, text);
    if (duration.isZero()) {
      throw new ConfigException(option + " must be longer than 0");
    }
    return duration;
  }
}
