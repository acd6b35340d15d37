package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CompileTimeConstant;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.volume.PlainText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * An external program, run without a shell, with a deadline and bounded output. What is not written
 * in this program reaches its command line as an {@link Argument} only. Secrets never belong in its
 * arguments, which every user of the machine can read: give them by {@link #input} or in a {@link
 * SecretFile}. Immutable.
 */
public final class Command {
  /** How long a program may run unless it is told otherwise. */
  public static final Duration USUAL = Duration.ofSeconds(60);

  private static final int MAX_OUTPUT = 256 << 10;
  private static final int SAID = 2000;
  private static final Duration LAST_OUTPUT = Duration.ofSeconds(1);
  private static final List<String> USUAL_FOLDERS =
      List.of("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");

  private final List<String> starter;
  private final List<String> words;
  private final Duration deadline;
  private final byte[] input;

  private Command(List<String> starter, List<String> words, Duration deadline, byte[] input) {
    this.starter = List.copyOf(starter);
    this.words = List.copyOf(words);
    this.deadline = deadline;
    this.input = input;
  }

  /** A program, found in PATH or the usual directories, with arguments. */
  public static Command of(
      @CompileTimeConstant String program, @CompileTimeConstant String... arguments) {
    List<String> words = new ArrayList<>();
    words.add(program);
    words.addAll(Arrays.asList(arguments));
    return new Command(List.of(), words, USUAL, new byte[0]);
  }

  /**
   * In a network namespace, by nsenter(1), which becomes the program.
   *
   * @param file of the namespace; empty for that of this process
   */
  public Command inNetwork(String file) {
    if (file.isEmpty()) {
      return this;
    }
    Argument net = Argument.of("netNamespaceFilePath", file);
    List<String> line = new ArrayList<>(List.of("nsenter", "--net=" + net, "--"));
    line.addAll(words);
    return new Command(starter, line, deadline, input);
  }

  /** By a program that becomes this one, whose path and arguments it gets behind its own. */
  Command startedBy(List<String> program) {
    return new Command(program, words, deadline, input);
  }

  /** With more arguments, which are written in the program. */
  public Command with(@CompileTimeConstant String... arguments) {
    return more(Arrays.asList(arguments));
  }

  /** With more arguments. */
  public Command with(Argument... arguments) {
    return with(Arrays.asList(arguments));
  }

  /** With more arguments. */
  public Command with(List<Argument> arguments) {
    return more(arguments.stream().map(Argument::toString).toList());
  }

  private Command more(List<String> arguments) {
    List<String> more = new ArrayList<>(words);
    more.addAll(arguments);
    return new Command(starter, more, deadline, input);
  }

  /** With a deadline of its own; the program is killed when it has passed. */
  public Command within(Duration time) {
    return new Command(starter, words, time, input);
  }

  /** With something on its standard input, which may be secret; it ends there. */
  public Command input(String text) {
    return new Command(starter, words, deadline, text.getBytes(UTF_8));
  }

  /** As {@link #input(String)}; the bytes are copied. */
  public Command input(byte[] bytes) {
    return new Command(starter, words, deadline, bytes.clone());
  }

  /** Where a program is, in PATH or the usual directories; empty when it is not installed. */
  public static Optional<Path> find(String program) {
    if (program.startsWith("/")) {
      return Optional.of(Path.of(program)).filter(Files::isExecutable);
    }
    Set<String> folders = new LinkedHashSet<>();
    String path = System.getenv("PATH");
    if (path != null) {
      folders.addAll(Arrays.asList(path.split(":", -1)));
    }
    folders.addAll(USUAL_FOLDERS);
    return folders.stream()
        .filter(folder -> folder.startsWith("/"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Runs the program and requires that it succeeds; blocks until it ends or its deadline passes.
   *
   * @return its standard output
   * @throws CommandException if it is not installed, its exit code is not 0, or it took too long
   */
  public String run() {
    Result result = exitsWith(0);
    return result.output();
  }

  /**
   * As {@link #run}, for programs with several exit codes that are no failure.
   *
   * @param expected the exit codes that are no failure
   */
  public Result exitsWith(Integer... expected) {
    Result result = tryRun();
    if (!Arrays.asList(expected).contains(result.exitCode())) {
      throw new CommandException(
          this + " ended with exit code " + result.exitCode() + ": " + result.said(),
          result.exitCode());
    }
    return result;
  }

  /**
   * Runs the program, whatever its exit code is.
   *
   * @throws CommandException if it is not installed or took too long
   */
  public Result tryRun() {
    Path program =
        find(words.get(0))
            .orElseThrow(
                () ->
                    new CommandException(
                        words.get(0) + " is not installed on this node",
                        CommandException.NO_EXIT_CODE));
    List<String> line = new ArrayList<>(starter);
    line.add(program.toString());
    line.addAll(words.subList(1, words.size()));
    ProcessBuilder builder = new ProcessBuilder(line);
    builder.environment().put("LC_ALL", "C");
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new CommandException(this + " cannot be started: " + e.getMessage(), e);
    }
    try {
      return deadline.compareTo(USUAL) > 0 ? LongStep.call(() -> attend(process)) : attend(process);
    } finally {
      kill(process);
    }
  }

  private Result attend(Process process) {
    Drain output = Drain.start(process.getInputStream());
    Drain errors = Drain.start(process.getErrorStream());
    feed(process);
    try {
      if (!process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new CommandException(
            this + " did not end within " + deadline.toSeconds() + " s and was killed",
            CommandException.TIMED_OUT);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException(this + " was interrupted", e);
    }
    return new Result(process.exitValue(), output.text(), errors.text());
  }

  private void feed(Process process) {
    Thread feeder =
        new Thread(
            () -> {
              try (OutputStream stream = process.getOutputStream()) {
                stream.write(input);
              } catch (IOException e) {
                // It did not want its input; its exit code tells what that means.
              }
            },
            "feed-" + words.get(0));
    feeder.setDaemon(true);
    feeder.start();
  }

  private static void kill(Process process) {
    if (process.isAlive()) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  /** The program and its arguments, which have no secrets. */
  @Override
  public String toString() {
    return String.join(" ", words);
  }

  /**
   * How a program ended.
   *
   * @param exitCode its exit code
   * @param output its standard output, cut off when it is very long
   * @param errors its standard error, cut off when it is very long
   */
  public record Result(int exitCode, String output, String errors) {
    /** What it said, for people: its errors, or else its output, in one line. */
    public String said() {
      String text = errors.isBlank() ? output : errors;
      String line = text.strip().replaceAll("\\s*\\R\\s*", "; ");
      return line.isEmpty() ? "it said nothing" : PlainText.escape(line, SAID);
    }
  }

  /** Reads a stream to its end, so that the program never waits, and keeps its beginning. */
  private static final class Drain implements Runnable {
    private final InputStream stream;
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private final Thread thread = new Thread(this, "drain");

    private Drain(InputStream stream) {
      this.stream = stream;
      thread.setDaemon(true);
    }

    static Drain start(InputStream stream) {
      Drain drain = new Drain(stream);
      drain.thread.start();
      return drain;
    }

    @Override
    public void run() {
      byte[] buffer = new byte[8192];
      try {
        for (int n = stream.read(buffer); n >= 0; n = stream.read(buffer)) {
          synchronized (kept) {
            kept.write(buffer, 0, Math.min(n, MAX_OUTPUT - kept.size()));
          }
        }
      } catch (IOException e) {
        // The program was killed: what it said until then is what there is.
      }
    }

    /** A daemon that the program left behind may hold the stream open: it is not waited for. */
    String text() {
      try {
        thread.join(LAST_OUTPUT.toMillis());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      synchronized (kept) {
        return kept.toString(UTF_8);
      }
    }
  }
}
