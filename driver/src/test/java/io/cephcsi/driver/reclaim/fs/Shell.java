package io.cephcsi.driver.reclaim.fs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** Runs the programs of e2fsprogs, xfsprogs and util-linux. */
final class Shell {
  private Shell() {}

  /** Fails with what to install unless all programs are there and we may mount. */
  static void require(String... programs) {
    for (String program : programs) {
      boolean there =
          List.of("/usr/sbin", "/sbin", "/usr/bin", "/bin").stream()
              .anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
      if (!there) {
        throw new AssertionError(program + " is missing: run ci/install fs");
      }
    }
    if (!"root".equals(System.getProperty("user.name"))) {
      throw new AssertionError("these tests mount file systems by loop devices: run them as root");
    }
  }

  /** Runs a command; its output is in the error when it fails. */
  static void run(List<String> command) {
    StringBuilder output = new StringBuilder();
    int code = stream(command, line -> output.append(line).append('\n'));
    if (code != 0) {
      throw new AssertionError(command + " ended with " + code + ":\n" + output);
    }
  }

  static void run(String... command) {
    run(List.of(command));
  }

  /** Runs a shell script as {@link #tryScript}; fails with its output unless it succeeds. */
  static void script(String script) {
    run(inPrivateMounts(script));
  }

  /**
   * Runs a shell script and answers its exit code.
   *
   * <p>What it mounts is in a mount namespace of its own: it goes when the script ends, however it
   * ends, and no other process of this machine that makes a namespace meanwhile takes a copy of the
   * mount, which would keep the file system mounted after umount.
   */
  static int tryScript(String script) {
    return stream(inPrivateMounts(script), line -> {});
  }

  private static List<String> inPrivateMounts(String script) {
    return List.of("unshare", "-m", "--propagation", "slave", "bash", "-euc", script);
  }

  /** Runs a command and hands over its output and errors line by line; answers the exit code. */
  static int stream(List<String> command, Consumer<String> lines) {
    try {
      ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
      builder.environment().put("LC_ALL", "C");
      builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
      Process process = builder.start();
      process.getOutputStream().close();
      try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
        output.lines().forEach(lines);
      }
      return process.waitFor();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }
}
