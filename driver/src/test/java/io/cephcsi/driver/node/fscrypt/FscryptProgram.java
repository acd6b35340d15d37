package io.cephcsi.driver.node.fscrypt;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The program {@code fscrypt}, which judges what this driver makes, and makes what it opens. */
public final class FscryptProgram {
  private static final Path CONFIG = Path.of("/etc/fscrypt.conf");

  private FscryptProgram() {}

  /** Gives the program its configuration, with cheap passphrases; one that is there is kept. */
  public static void configure() {
    try {
      if (!Files.exists(CONFIG)) {
        Files.writeString(
            CONFIG,
            """
            {
              "source": "custom_passphrase",
              "hash_costs": {
                "time": "2", "memory": "8192", "parallelism": "2", "truncation_fixed": true
              },
              "options": {
                "padding": "32", "contents": "AES_256_XTS", "filenames": "AES_256_CTS",
                "policy_version": "2"
              },
              "use_fs_keyring_for_v1_policies": false,
              "allow_cross_user_metadata": false
            }
            """);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs it; a passphrase is its standard input. */
  public static String run(String input, String... arguments) {
    Result result = tryRun(input, arguments);
    assertThat(result.code()).as("fscrypt: " + result.said()).isZero();
    return result.said();
  }

  /**
   * What it did.
   *
   * @param code its exit code
   * @param said stdout and stderr
   */
  public record Result(int code, String said) {}

  /** Runs it, whatever it says. */
  public static Result tryRun(String input, String... arguments) {
    List<String> command = new ArrayList<>(List.of("fscrypt"));
    command.addAll(List.of(arguments));
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      try (var in = process.getOutputStream()) {
        in.write(input.getBytes(UTF_8));
      }
      String said = new String(process.getInputStream().readAllBytes(), UTF_8);
      return new Result(process.waitFor(), said);
    } catch (IOException e) {
      throw new UncheckedIOException("run ci/install fs", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
