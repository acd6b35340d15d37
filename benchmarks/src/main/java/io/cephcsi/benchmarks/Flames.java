package io.cephcsi.benchmarks;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import one.profiler.AsyncProfiler;
import org.jspecify.annotations.Nullable;

/** Samples this JVM, where async-profiler can run. */
final class Flames {
  private final AsyncProfiler profiler;

  private Flames(AsyncProfiler profiler) {
    this.profiler = profiler;
  }

  /** Null where it cannot run; the reason is printed. */
  static @Nullable Flames start(PrintWriter err) {
    try {
      AsyncProfiler profiler = AsyncProfiler.getInstance();
      profiler.execute("start,event=ctimer,interval=2ms");
      return new Flames(profiler);
    } catch (IOException | IllegalStateException | UnsatisfiedLinkError e) {
      err.println("bench: no flame graph: " + e.getMessage());
      return null;
    }
  }

  /** Ends, and gives the graph as a page of HTML. */
  String stop() throws IOException {
    Path page = Files.createTempFile("flames", ".html");
    try {
      profiler.execute("stop,flamegraph,title=benchmarks,file=" + page);
      return Files.readString(page);
    } finally {
      Files.delete(page);
    }
  }
}
