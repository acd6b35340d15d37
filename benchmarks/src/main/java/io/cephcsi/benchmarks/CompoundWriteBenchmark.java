package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.Completion;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** How many compound writes a second does a cluster take, one by one and with 16 in flight? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
public class CompoundWriteBenchmark {
  private static final int IN_FLIGHT = 16;
  private static final int BATCH = 256;

  private final byte[] value = "0123456789abcdef".getBytes(UTF_8);

  private WriteOperation operation() {
    return new WriteOperation().create().omapSet("key", value).setXattr("x", value);
  }

  /** One after the other. */
  @Benchmark
  public void synchronous(ClusterState state) {
    try (WriteOperation op = operation()) {
      state.io.operate("benchmark-sync", op);
    }
  }

  /** A ring of 16: the oldest is awaited before the next is started. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void sixteenInFlight(ClusterState state) {
    ArrayDeque<Completion> ring = new ArrayDeque<>(IN_FLIGHT);
    for (int i = 0; i < BATCH; i++) {
      if (ring.size() == IN_FLIGHT) {
        finish(ring);
      }
      try (WriteOperation op = operation()) {
        ring.add(state.io.operateAsync("benchmark-async-" + i % IN_FLIGHT, op));
      }
    }
    while (!ring.isEmpty()) {
      finish(ring);
    }
  }

  private static void finish(ArrayDeque<Completion> ring) {
    try (Completion oldest = ring.remove()) {
      oldest.await();
    }
  }
}
