package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
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

/** What does a name in the journal cost, and does that depend on how many there are? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls fill first
public class JournalBenchmark {
  private static final String INSTANCE = "benchmark";
  private static final String DIRECTORY = "csi.volumes." + INSTANCE;
  private static final int BATCH = 1000;

  /** How many other names the directory has. */
  @Param({"10", "100000"})
  int names;

  private final ClusterState cluster = new ClusterState();
  private Journal journal;
  private JournalEntry known;
  private long next;

  /** Fills the directory. */
  @Setup(Level.Trial)
  public void fill() {
    cluster.connect(); // not a state of JMH's, which it may disconnect before remove
    for (int i = 0; i < names; i += BATCH) {
      Map<String, byte[]> keys = new HashMap<>();
      for (int name = i; name < Math.min(i + BATCH, names); name++) {
        keys.put("csi.volume.filler-" + name, UUID.randomUUID().toString().getBytes(UTF_8));
      }
      try (WriteOperation write = new WriteOperation().create().omapSet(keys)) {
        cluster.io.operate(DIRECTORY, write);
      }
    }
    journal = new Journal(JournalKind.VOLUME, INSTANCE, cluster.io, cluster.io);
    known = reserve("known");
  }

  /** Removes the directory. */
  @TearDown(Level.Trial)
  public void remove() {
    journal.remove(known);
    cluster.io.remove(DIRECTORY);
    cluster.disconnect();
  }

  private JournalEntry reserve(String name) {
    return journal.reserve(name, uuid -> "csi-vol-" + uuid, Map.of("csi.volume.owner", "default"));
  }

  /** A new name, which is taken back: two round trips each. */
  @Benchmark
  public void reserveAndUndo() {
    journal.undo(reserve("new-" + next++));
  }

  /** A name that is reserved already: three round trips. */
  @Benchmark
  public JournalEntry reserveAgain() {
    return reserve("known");
  }

  /** What belongs to a volume id: one round trip. */
  @Benchmark
  public Object read() {
    return journal.byUuid(known.uuid());
  }
}
