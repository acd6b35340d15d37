package io.cephcsi.driver.cli;

import ch.qos.logback.classic.Level;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.DriverProcess;
import io.cephcsi.driver.profile.Recordings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ceph-csi serve}: serves drivers until SIGTERM or SIGINT. */
@Command(
    name = ServeCommand.NAME,
    description = {
      "Serves a CSI driver on a Unix socket, or with --config several in one process,",
      "until SIGTERM or SIGINT."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    showDefaultValues = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:stopped by SIGTERM or SIGINT",
      "1:failed",
      "2:wrong command line or configuration"
    })
final class ServeCommand implements Callable<Integer> {
  static final String NAME = "serve";
  private static final Logger LOG = LoggerFactory.getLogger(ServeCommand.class);
  private static final int DEBUG_VERBOSITY = 4;

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "YAML file with all settings and several drivers; instead of the options below")
  private @Nullable Path config;

  @Mixin private final DriverSettings driver = new DriverSettings();
  @Mixin private final ProcessSettings process = new ProcessSettings();

  @Option(
      names = {"-v", "--v"},
      paramLabel = "LEVEL",
      description = "how much is logged: from 4 on requests too, without their secrets")
  private int verbosity;

  @ArgGroup(validate = false, heading = "")
  private final CephCsiOptions cephCsiOptions = new CephCsiOptions();

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (verbosity >= DEBUG_VERBOSITY) {
      DriverMain.logLevel(Level.DEBUG);
    }
    cephCsiOptions.warnOfIgnored();
    if (driver.type().equals("liveness")) {
      return LivenessProbe.serve(
          driver.socket(), process.metrics(), cephCsiOptions.pollTime(), cephCsiOptions.timeout());
    }
    if (driver.type().equals("controller")) {
      LOG.info(
          "type controller has nothing to do: journal entries of volumes of another site are made"
              + " from their images, by the first call for each");
      awaitSignal(() -> {});
      return 0;
    }
    DriverConfig settings =
        config == null ? process.config(List.of(driver.fromOptions())) : ConfigFile.read(config);
    IgnoredCephConf.warn(IgnoredCephConf.FILE);
    awaitSignal(DriverProcess.start(settings)::close);
    return 0;
  }

  /** Waits for SIGTERM or SIGINT, then stops before the process ends. */
  static void awaitSignal(Runnable stop) throws InterruptedException {
    CountDownLatch stopped = new CountDownLatch(1);
    Thread hook =
        new Thread(
            () -> {
              stop.run();
              stopped.countDown();
              Recordings.awaitWritten();
              // A stop by a signal is no failure; the JVM would exit with 143.
              Runtime.getRuntime().halt(0);
            },
            "stop");
    Runtime.getRuntime().addShutdownHook(hook);
    stopped.await();
  }
}
