package io.cephcsi.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;

/** What was measured on. */
final class Machine {
  private Machine() {}

  static Map<String, String> of(BenchSetup setup) throws IOException, InterruptedException {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("size", setup.quick() ? "quick" : "full");
    facts.put("cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("load", Files.readString(Path.of("/proc/loadavg")).split(" ", 2)[0]);
    facts.put("java", Runtime.version().toString());
    facts.put("ceph", said("ceph", "--version"));
    facts.put("linux", System.getProperty("os.version") + " " + System.getProperty("os.arch"));
    return facts;
  }

  private static String said(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).start();
    String line = process.inputReader().readLine();
    process.waitFor();
    return line == null ? "" : line;
  }
}
