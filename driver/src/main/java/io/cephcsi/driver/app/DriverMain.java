package io.cephcsi.driver.app;

import static java.nio.charset.StandardCharsets.UTF_8;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.cephcsi.driver.grpc.KeyMaterial;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The program: {@code ceph-csi}. */
@Command(
    name = DriverMain.NAME,
    description = "A CSI driver for Ceph that talks to the cluster through Ceph's own libraries.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
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

  private static final List<Class<?>> COMMANDS =
      List.of(
          ServeCommand.class,
          CallCommand.class,
          UsageCommand.class,
          ReclaimCommand.class,
          TrackerCommand.class,
          BenchCommand.class,
          RehearseCommand.class,
          CommandLine.HelpCommand.class);

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  private DriverMain() {}

  /** Runs the program and ends the process with its exit code. */
  public static void main(String[] args) {
    LogProvider.choose();
    JavaLog.install();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, e) ->
            LoggerFactory.getLogger(DriverMain.class).error("{} ended", thread.getName(), e));
    List<String> words = GoFlags.normalize(args);
    if (!words.isEmpty() && words.get(0).equals(ServeCommand.NAME)) {
      EarlyStart.begin();
    }
    System.exit(
        run(
            new PrintWriter(System.out, true, UTF_8),
            new PrintWriter(System.err, true, UTF_8),
            args));
  }

  static int run(PrintWriter out, PrintWriter err, String... args) {
    List<String> words = GoFlags.normalize(args);
    CommandLine program =
        named(words)
            .map(DriverMain::only)
            .orElseGet(
                () -> {
                  CommandLine all = new CommandLine(new DriverMain());
                  COMMANDS.forEach(all::addSubcommand);
                  return all;
                });
    withErrors(program);
    program.setOut(out);
    program.setErr(err);
    return program.execute(words.toArray(new String[0]));
  }

  /** The command that is named. */
  private static Optional<Class<?>> named(List<String> words) {
    return COMMANDS.stream()
        .filter(command -> !words.isEmpty() && words.get(0).equals(name(command)))
        .filter(command -> command != CommandLine.HelpCommand.class) // it tells of all others
        .findFirst();
  }

  /** The program with one command: reading the options of all takes a third of the start. */
  private static CommandLine only(Class<?> command) {
    CommandSpec program = CommandSpec.create().name(NAME);
    return new CommandLine(program).addSubcommand(command);
  }

  private static String name(Class<?> command) {
    return command.getAnnotation(Command.class).name();
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
