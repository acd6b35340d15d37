package io.cephcsi.driver.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A run of the program in this JVM: its exit code and what it printed. */
record Program(int exitCode, String out, String err) {
  static Program run(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int exitCode = DriverMain.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Program(exitCode, out.toString(), err.toString());
  }

  /** Runs {@code ceph-csi call}. */
  static Program call(Path socket, String... args) {
    List<String> all = new ArrayList<>(List.of("call", socket.toString()));
    all.addAll(List.of(args));
    return run(all.toArray(new String[0]));
  }
}
