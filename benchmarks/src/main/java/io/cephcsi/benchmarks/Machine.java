package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What was measured on. */
final class Machine {
  private static final Pattern OBJECTSTORE =
      Pattern.compile("\"osd_objectstore\"\\s*:\\s*\"(\\w+)\"");

  private Machine() {}

  static Map<String, String> of(BenchSetup setup) throws IOException, InterruptedException {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("size", setup.quick() ? "quick" : "full");
    facts.put("cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("load", Files.readString(Path.of("/proc/loadavg")).split(" ", 2)[0]);
    facts.put("java", Runtime.version().toString());
    facts.put(
        "ceph", said(List.of("ceph", "--version"), text -> text.lines().findFirst().orElse("")));
    facts.put(
        "objectstore",
        said(
            List.of("ceph", "-c", setup.conf().toString(), "osd", "metadata", "0", "-f", "json"),
            Machine::objectstore));
    facts.put("linux", System.getProperty("os.version") + " " + System.getProperty("os.arch"));
    return facts;
  }

  /** Empty when it is not known. */
  private static String objectstore(String metadata) {
    Matcher matcher = OBJECTSTORE.matcher(metadata);
    return matcher.find() ? matcher.group(1) : "";
  }

  private static String said(List<String> command, UnaryOperator<String> part)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    process.waitFor();
    return part.apply(said);
  }
}
