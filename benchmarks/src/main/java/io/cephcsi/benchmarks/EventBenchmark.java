package io.cephcsi.benchmarks;

import io.cephcsi.bindings.profile.RadosOperation;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What does an event of the flight recorder cost, when it is off and when it is on? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class EventBenchmark {
  /** Without any recording, with one of other events, with one of these. */
  @Param({"none", "others", "on"})
  public String recorded = "none";

  private @Nullable Recording recording;

  /** Begins to record. */
  @Setup(Level.Trial)
  public void record() {
    if (!recorded.equals("none")) {
      recording = new Recording();
      recording.setMaxSize(64 << 20);
      if (recorded.equals("on")) {
        recording.enable(RadosOperation.class);
      } else {
        recording.enable("jdk.CPULoad");
      }
      recording.start();
    }
  }

  /** Ends to record. */
  @TearDown(Level.Trial)
  public void end() {
    if (recording != null) {
      recording.close();
    }
  }

  /** As an operation on an object has it; no cluster is involved. */
  @Benchmark
  public void event() {
    RadosOperation event = RadosOperation.begun();
    if (event != null) {
      event.ended("rados_write", "rbd", "", "rbd_data.1234.0000000000000001", 4096, 0);
    }
  }
}
