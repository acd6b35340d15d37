package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.WriteOperation;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What does it cost to build a compound write of a comparison, two omap keys and an xattr? */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class OperationBuildingBenchmark {
  private final byte[] value = "0123456789abcdef".getBytes(UTF_8);

  /** Builds and releases one; no cluster is involved. */
  @Benchmark
  public void build() {
    try (WriteOperation op = new WriteOperation()) {
      op.omapCompare("csi.volume.pvc-1", value);
      op.omapSet("csi.volume.pvc-2", value);
      op.setXattr("csi.ceph.com/rt-version", value);
    }
  }
}
