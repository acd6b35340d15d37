package io.cephcsi.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Coverage-guided fuzzing by Jazzer, in a process of its own that ends in time whatever it finds. A
 * target is a class with {@code static void fuzzerTestOneInput(byte[])}: it fails by throwing.
 */
public final class Fuzzing {
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int SECONDS = FULL ? 600 : 4;
  private static final int START_SECONDS = 120;
  private static final int LONGEST_INPUT = 2048;

  private Fuzzing() {}

  /**
   * Fuzzes a target for 4 seconds, or 10 minutes in a campaign.
   *
   * @param seeds inputs to begin with
   * @throws AssertionError with what the fuzzer printed, when it found an input that fails
   */
  public static void run(Class<?> target, List<byte[]> seeds) {
    try {
      Path folder = Files.createTempDirectory("fuzz");
      Path corpus = Files.createDirectory(folder.resolve("corpus"));
      for (int i = 0; i < seeds.size(); i++) {
        Files.write(corpus.resolve("seed-" + i), seeds.get(i));
      }
      Path output = folder.resolve("output");
      Process process =
          new ProcessBuilder(command(target, corpus))
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
              .redirectOutput(output.toFile())
              .start();
      boolean ended = process.waitFor(SECONDS + START_SECONDS, TimeUnit.SECONDS);
      process.destroyForcibly();
      if (!ended || process.waitFor() != 0) {
        throw new AssertionError((ended ? "" : "it hangs: ") + Files.readString(output));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static List<String> command(Class<?> target, Path corpus) {
    return new ArrayList<>(
        List.of(
            ChildJvm.java(),
            "-Xmx512m",
            "-cp",
            System.getProperty("java.class.path"),
            "com.code_intelligence.jazzer.Jazzer",
            "--target_class=" + target.getName(),
            "--instrumentation_includes=io.cephcsi.**",
            "-max_total_time=" + SECONDS,
            "-max_len=" + LONGEST_INPUT,
            "-timeout=20",
            "-rss_limit_mb=0",
            "-seed=" + System.getenv().getOrDefault("CEPH_CSI_TEST_SEED", "1"),
            corpus.toString()));
  }
}
