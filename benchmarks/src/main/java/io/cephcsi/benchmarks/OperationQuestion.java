package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.ceph.rados.IoCTX;
import com.ceph.rados.Rados;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.rados.Completion;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import java.io.File;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;

/** What does an operation of librados cost through the bindings, through rados-java and in C? */
final class OperationQuestion implements Question {
  private static final int IN_FLIGHT = 16;
  private static final int BUILDS = 20_000;

  /** After so many the JVM has compiled what one does. */
  private static final int COMPILED = 12_000;

  private static final String RADOS_JAVA = "rados-java";
  private static final String CALLS = "its calls of JNA alone";
  private static final byte[] VALUE = "0123456789abcdef".getBytes(UTF_8);

  @Override
  public List<Finding> ask(BenchSetup setup) throws Exception {
    int rounds = setup.scaled(60, 25);
    double[][] ours = new double[4][rounds];
    double[][] c = new double[4][rounds];
    double[] calls = new double[rounds];
    double[] radosJava = new double[rounds];
    int at = 0;
    for (int part = 0; part < Turns.CONNECTIONS; part++) {
      try (RadosCluster cluster = RbdImages.connection(setup.conf());
          IoContext io = cluster.openPool(RbdImages.POOL, "benchmarks");
          RadosJava other = RadosJava.connect(setup);
          BaselineServer baseline =
              BaselineServer.start(
                  setup.program("operations"), setup.conf().toString(), RbdImages.POOL)) {
        warm(io, other, part == 0 ? COMPILED : COMPILED / 20);
        for (; at < rounds * (part + 1) / Turns.CONNECTIONS; at++) {
          Turns turns = new Turns(setup, baseline, at % 2 == 0);
          double[] built = turns.seconds(n -> build(n), "build", BUILDS);
          ours[0][at] = built[0] * 1e9 / BUILDS;
          c[0][at] = built[1] * 1e9 / BUILDS;
          calls[at] = setup.seconds(() -> calls(BUILDS)) * 1e9 / BUILDS;
          int writes = setup.scaled(800, 400);
          double[] one = turns.seconds(n -> write(io, n), "write", writes);
          ours[1][at] = writes / one[0];
          c[1][at] = writes / one[1];
          int many = 4 * writes;
          double[] ring = turns.seconds(n -> async(io, n), "async", many);
          ours[2][at] = many / ring[0];
          c[2][at] = many / ring[1];
          double[] bare = turns.seconds(n -> plain(io, n), "plain", writes);
          ours[3][at] = writes / bare[0];
          c[3][at] = writes / bare[1];
          other.plain(writes / 10);
          radosJava[at] = writes / (Baseline.millis(() -> other.plain(writes)) / 1e3);
        }
        io.objects().forEach(io::remove);
      }
    }
    return List.of(
        Finding.time("build", "building a compound write", "ns", ours[0])
            .beside(Finding.C, c[0])
            .beside(CALLS, calls)
            .atLeast(Finding.C, 1 / 1.5),
        Finding.rate("write-1", "compound writes, one by one", "1/s", ours[1])
            .beside(Finding.C, c[1])
            .atLeast(Finding.C, 0.95),
        Finding.rate("write-16", "compound writes, 16 in flight", "1/s", ours[2])
            .beside(Finding.C, c[2])
            .atLeast(Finding.C, 0.95),
        Finding.rate("plain", "writes of 16 bytes, one by one", "1/s", ours[3])
            .beside(Finding.C, c[3])
            .beside(RADOS_JAVA, radosJava));
  }

  private static void warm(IoContext io, RadosJava other, int count)
      throws IOException, InterruptedException {
    for (int i = 0; i < count; i += BUILDS / 20) {
      build(BUILDS / 20);
      calls(BUILDS / 20);
    }
    write(io, count);
    async(io, count);
    plain(io, count);
    other.plain(count);
  }

  private static void build(int count) {
    for (int i = 0; i < count; i++) {
      try (WriteOperation op = new WriteOperation()) {
        op.omapCompare("csi.volume.pvc-1", VALUE);
        op.omapSet("csi.volume.pvc-2", VALUE);
        op.setXattr("csi.ceph.com/rt-version", VALUE);
      }
    }
  }

  /** What {@link #build} calls, with arguments that are there already: the least that JNA costs. */
  private static void calls(int count) {
    try (NativeArena arena = NativeArena.open()) {
      long value = arena.bytes(VALUE);
      long compared = arena.cString("csi.volume.pvc-1");
      long keys = arena.cell(arena.cString("csi.volume.pvc-2"));
      long values = arena.cell(value);
      long lengths = arena.cell(VALUE.length);
      long name = arena.cString("csi.ceph.com/rt-version");
      for (int i = 0; i < count; i++) {
        long op = LibRados.rados_create_write_op();
        LibRados.rados_write_op_omap_cmp(op, compared, LibRados.CMP_EQ, value, VALUE.length, 0);
        LibRados.rados_write_op_omap_set(op, keys, values, lengths, 1);
        LibRados.rados_write_op_setxattr(op, name, value, VALUE.length);
        LibRados.rados_release_write_op(op);
      }
    }
  }

  private static WriteOperation operation() {
    return new WriteOperation().create().omapSet("key", VALUE).setXattr("x", VALUE);
  }

  private static void write(IoContext io, int count) {
    for (int i = 0; i < count; i++) {
      try (WriteOperation op = operation()) {
        io.operate("bench-sync", op);
      }
    }
  }

  /** A ring: the oldest is awaited before the next is started. */
  private static void async(IoContext io, int count) {
    ArrayDeque<Completion> ring = new ArrayDeque<>(IN_FLIGHT);
    for (int i = 0; i < count; i++) {
      if (ring.size() == IN_FLIGHT) {
        finish(ring);
      }
      try (WriteOperation op = operation()) {
        ring.add(io.operateAsync("bench-async-" + i % IN_FLIGHT, op));
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

  private static void plain(IoContext io, int count) {
    for (int i = 0; i < count; i++) {
      io.write("bench-plain", 0, VALUE);
    }
  }

  /** A connection by rados-java. */
  private record RadosJava(Rados cluster, IoCTX io) implements AutoCloseable {
    static RadosJava connect(BenchSetup setup) throws IOException {
      Rados cluster = new Rados("admin");
      try {
        cluster.confReadFile(new File(setup.conf().toString()));
        cluster.connect();
        IoCTX io = cluster.ioCtxCreate(RbdImages.POOL);
        io.setNamespace("benchmarks");
        return new RadosJava(cluster, io);
      } catch (IOException | RuntimeException e) {
        cluster.shutDown();
        throw e;
      }
    }

    void plain(int count) throws IOException {
      for (int i = 0; i < count; i++) {
        io.write("bench-plain", VALUE);
      }
    }

    @Override
    public void close() {
      cluster.ioCtxDestroy(io);
      cluster.shutDown();
    }
  }
}
