package io.cephcsi.driver.kubernetes;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Runs commands of the documentation as they stand there, in a folder that has its own files. */
final class DocumentedCommands {
  private static final int MINUTES = 8;

  private final Path folder;

  /**
   * Commands that name files of the project find them.
   *
   * @param folder where the commands run, with the files that the documentation tells to write
   */
  DocumentedCommands(Path folder) throws IOException {
    this.folder = folder;
    for (String name : new String[] {"driver", "ci"}) {
      Files.createSymbolicLink(
          folder.resolve(name), Path.of("..", name).toAbsolutePath().normalize());
    }
  }

  /** Runs a shell's script; the first command that fails ends it, and fails the test. */
  void run(String script) throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    Process shell =
        new ProcessBuilder("bash", "-euxo", "pipefail", "-c", script)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    boolean ended = shell.waitFor(MINUTES, TimeUnit.MINUTES);
    if (!ended) {
      shell.destroyForcibly();
    }
    assertThat(ended && shell.exitValue() == 0)
        .as("%s%n%s", script, Files.readString(output, UTF_8))
        .isTrue();
  }
}
