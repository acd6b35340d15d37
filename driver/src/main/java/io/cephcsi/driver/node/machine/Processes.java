package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Processes of this machine, or of this container, known by their command lines (proc(5)): no
 * number is kept that could be another process's by now. Anybody may give himself any command line,
 * and a driver that sees the machine's processes sees those of pods: only {@link #isOurs} count.
 * Safe for several threads.
 */
public final class Processes {
  private static final Path PROC = Path.of("/proc");

  /** The number of the user that this process is of, whatever it may do by now. */
  private static final String USER = status(PROC.resolve("self"), "Uid").get(0);

  private Processes() {}

  /**
   * The words of a command line.
   *
   * @param process its directory in /proc
   * @return empty when it has ended, also while its parent has not asked for its exit code
   */
  public static List<String> commandLine(Path process) {
    try {
      String line = new String(Files.readAllBytes(process.resolve("cmdline")), UTF_8);
      return line.isEmpty() ? List.of() : Arrays.asList(line.split("\0", -1));
    } catch (IOException e) {
      return List.of();
    }
  }

  /**
   * Whether a process is of this user, and in no container with processes of its own, where pods
   * are. Nobody needs a right to ask that.
   *
   * @param process its directory in /proc
   */
  public static boolean isOurs(Path process) {
    return status(process, "NSpid").size() == 1
        && status(process, "Uid").stream().limit(1).toList().equals(List.of(USER));
  }

  /** The values of a line of its status: of NSpid, its numbers from this container's inwards. */
  private static List<String> status(Path process, String name) {
    return Sysfs.text(process.resolve("status")).stream()
        .flatMap(String::lines)
        .filter(line -> line.startsWith(name + ":"))
        .flatMap(line -> Arrays.stream(line.split("\\s+", -1)).skip(1))
        .toList();
  }

  /** The directories in /proc of our processes of a program, whatever directory it is in. */
  static List<Path> of(String program, Predicate<List<String>> arguments) {
    return all(program, arguments).toList();
  }

  /** As {@link #of}, one of them; empty when there is none. */
  public static Optional<Path> find(String program, Predicate<List<String>> arguments) {
    return all(program, arguments).findFirst();
  }

  private static Stream<Path> all(String program, Predicate<List<String>> arguments) {
    return Sysfs.in(PROC, "[0-9]*").stream().filter(one -> isOf(one, program, arguments));
  }

  private static boolean isOf(Path process, String program, Predicate<List<String>> arguments) {
    List<String> line = commandLine(process);
    return !line.isEmpty()
        && (line.get(0).equals(program) || line.get(0).endsWith("/" + program))
        && arguments.test(line.subList(1, line.size()))
        && isOurs(process);
  }

  /**
   * Waits until those processes of a program that run now have ended.
   *
   * @return whether they have; false when the time is over
   */
  public static boolean awaitEnd(
      String program, Predicate<List<String>> arguments, Duration limit) {
    List<Path> processes = of(program, arguments);
    return Polling.until(
        limit, () -> processes.stream().noneMatch(one -> isOf(one, program, arguments)));
  }
}
