package io.cephcsi.driver.cli;

import io.cephcsi.testing.ChildJvm;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A run of the program in this JVM: its exit code and what it printed. */
record Program(int exitCode, String out, String err) {
  static Program run(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int exitCode = DriverMain.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Program(exitCode, out.toString(), err.toString());
  }

  /** A run of the program as a process of its own: what ends it does not end the tests. */
  static Program fork(Path folder, String... args) throws IOException, InterruptedException {
    Path out = Files.createTempFile(folder, "fork", ".out");
    Path err = Files.createTempFile(folder, "fork", ".err");
    Process process = start(out, err, args);
    try {
      process.waitFor(120, TimeUnit.SECONDS);
    } finally {
      process.destroyForcibly();
    }
    return new Program(process.waitFor(), Files.readString(out), Files.readString(err));
  }

  /** Begins such a process. */
  static Process start(Path out, Path err, String... args) throws IOException {
    return new ProcessBuilder(
            ChildJvm.command(
                List.of("-Xmx128m", "-XX:+ExitOnOutOfMemoryError"), // as the launcher has them
                DriverMain.class,
                args))
        .directory(out.toAbsolutePath().getParent().toFile()) // where a core or hs_err would be
        .redirectOutput(out.toFile())
        .redirectError(err.toFile())
        .start();
  }

  /** Runs {@code ceph-csi call}. */
  static Program call(Path socket, String... args) {
    List<String> all = new ArrayList<>(List.of("call", socket.toString()));
    all.addAll(List.of(args));
    return run(all.toArray(new String[0]));
  }
}
