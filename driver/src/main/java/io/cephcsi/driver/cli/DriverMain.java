package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.grpc.KeyMaterial;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The program: {@code ceph-csi}. */
@Command(
    name = DriverMain.NAME,
    subcommands = {
      ServeCommand.class,
      CallCommand.class,
      UsageCommand.class,
      ReclaimCommand.class,
      FsckCommand.class,
      TrackerCommand.class,
      BenchCommand.class,
      CommandLine.HelpCommand.class
    },
    description = "A CSI driver for Ceph that talks to the cluster through Ceph's own libraries.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:done", "1:failed", "2:wrong command line or configuration"},
    footer = {
      "",
      "Options without a command are those of serve: the arguments of an existing ceph-csi",
      "deployment work as they are."
    })
public final class DriverMain implements Runnable {
  static final String NAME = "ceph-csi";

  /** The command could not do its work. */
  static final int EXIT_FAILED = 1;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  private DriverMain() {}

  /** Runs the program and ends the process with its exit code. */
  public static void main(String[] args) {
    SLF4JBridgeHandler.removeHandlersForRootLogger(); // gRPC logs by java.util.logging
    SLF4JBridgeHandler.install();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, e) ->
            LoggerFactory.getLogger(DriverMain.class).error("{} ended", thread.getName(), e));
    System.exit(
        run(
            new PrintWriter(System.out, true, UTF_8),
            new PrintWriter(System.err, true, UTF_8),
            args));
  }

  static int run(PrintWriter out, PrintWriter err, String... args) {
    return commandLine()
        .setOut(out)
        .setErr(err)
        .execute(GoFlags.normalize(args).toArray(new String[0]));
  }

  /** The program with all its commands. */
  static CommandLine commandLine() {
    return withErrors(new CommandLine(new DriverMain()));
  }

  /** Lets a program say what went wrong in one line. */
  static CommandLine withErrors(CommandLine program) {
    return program.setExecutionExceptionHandler(DriverMain::failed);
  }

  private static int failed(
      Exception e, CommandLine commandLine, CommandLine.ParseResult parseResult) {
    commandLine.getErr().println("ceph-csi: " + shown(e.getMessage()));
    return e instanceof ConfigException ? CommandLine.ExitCode.USAGE : EXIT_FAILED;
  }

  /** Text for a terminal: names of others stand in it. Its lines stay lines. */
  static String shown(@Nullable String text) {
    return KeyMaterial.hide(String.valueOf(text))
        .lines()
        .map(PlainText::escape)
        .collect(Collectors.joining(System.lineSeparator()));
  }

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "Missing command: serve, call, or the options of serve");
  }

  /** Sets how much is logged. */
  static void logLevel(Level level) {
    ((Logger) LoggerFactory.getLogger("io.cephcsi")).setLevel(level);
  }
}
