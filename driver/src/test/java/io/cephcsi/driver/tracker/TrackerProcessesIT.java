package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.ABSENT;
import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Eight clients in two processes on one tracker of a real cluster; the processes are killed at
 * random and started again. More often with {@code CEPH_CSI_TEST_CAMPAIGN=full}.
 */
class TrackerProcessesIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int LIVES = FULL ? 10 : 3;
  private static final int CALLS = 60;

  private final Map<String, Set<ReferenceState>> possible = new HashMap<>();

  @Test
  void killedProcessesNeverMiscount() {
    Tries.times(2, values -> killedProcessesNeverMiscount(values.number()));
  }

  private void killedProcessesNeverMiscount(long seed) throws Exception {
    possible.clear();
    String namespace = "tracker-kill-" + UUID.randomUUID();
    String snapshot = "snapshot-" + UUID.randomUUID();
    Path folder = Files.createTempDirectory("tracker");
    try (RadosCluster connection = CLUSTER.connect();
        IoContext pool = connection.openPool(CLUSTER.pool(), namespace)) {
      ReferenceTracker tracker = new Trackers().in(pool);
      tracker.add(snapshot, List.of(snapshot));
      List<Path> logs = processes(seed, namespace, snapshot, folder);
      for (Path log : logs) {
        follow(log);
      }
      check(tracker.read(snapshot).orElseThrow(), snapshot);
      takeAllAway(tracker, snapshot);
      assertThat(pool.objects()).isEmpty();
    } finally {
      try (var files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }

  private static List<Path> processes(long seed, String namespace, String snapshot, Path folder)
      throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<List<Path>>> running = new ArrayList<>();
      for (int slot = 0; slot < 2; slot++) {
        String keys = "p" + slot;
        Random random = new Random(seed + slot);
        running.add(
            threads.submit(
                () -> {
                  List<Path> logs = new ArrayList<>();
                  for (int life = 0; life < LIVES; life++) {
                    Path log = folder.resolve(keys + "-" + life);
                    live(log, namespace, snapshot, keys, random, life == LIVES - 1);
                    logs.add(log);
                  }
                  return logs;
                }));
      }
      List<Path> logs = new ArrayList<>();
      for (Future<List<Path>> slot : running) {
        logs.addAll(slot.get());
      }
      return logs;
    } finally {
      threads.shutdownNow();
    }
  }

  /** One process from its start to its end: by itself, or killed while it works. */
  private static void live(
      Path log, String namespace, String snapshot, String keys, Random random, boolean toTheEnd)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                ChildJvm.command(
                    List.of(),
                    TrackerClients.class,
                    CLUSTER.conf().toString(),
                    CLUSTER.pool(),
                    namespace,
                    snapshot,
                    keys,
                    "4",
                    Integer.toString(toTheEnd ? CALLS : Integer.MAX_VALUE),
                    Long.toString(random.nextLong())))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      if (!toTheEnd) {
        while (process.isAlive() && !Files.readString(log).contains("\ndone ")) {
          Thread.sleep(10);
        }
        Thread.sleep(random.nextInt(1500));
        assertThat(process.isAlive()).as(Files.readString(log)).isTrue();
      } else {
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(Files.readAllLines(log)).last().isEqualTo("end");
      }
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  /** What each key can be after a life: of the calls that were begun, the last may not be done. */
  private void follow(Path log) throws IOException {
    List<String> lines = Files.readAllLines(log);
    assertThat(lines).as("something was done").anyMatch(line -> line.startsWith("done"));
    for (String line : lines) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("begin") && words.length == 3) {
        Set<ReferenceState> before = possible.getOrDefault(words[1], Set.of(ABSENT));
        Set<ReferenceState> both = new HashSet<>(before);
        before.forEach(state -> both.add(after(state, words[2])));
        possible.put(words[1], both);
      } else if (words[0].equals("done") && words.length == 4) {
        assertThat(words[3]).as("the snapshot's own reference is there").isEqualTo("REMAINING");
        possible.put(words[1], done(possible.get(words[1]), words[2]));
      } else {
        assertThat(line).as("a line that the kill cut off, or the end").doesNotContain("failed");
      }
    }
  }

  /** After it is done, it certainly is done. */
  private static Set<ReferenceState> done(Set<ReferenceState> possible, String call) {
    Set<ReferenceState> after = new HashSet<>();
    possible.forEach(state -> after.add(after(state, call)));
    return after;
  }

  private static ReferenceState after(ReferenceState state, String call) {
    return switch (call) {
      case "add" -> state == ABSENT ? NORMAL : state;
      case "mask" -> MASK;
      default -> ABSENT;
    };
  }

  private void check(TrackerState state, String snapshot) {
    assertThat(state.count()).isEqualTo(state.normalReferences());
    assertThat(state.reference(snapshot)).isEqualTo(NORMAL);
    possible.forEach((key, states) -> assertThat(states).as(key).contains(state.reference(key)));
    state.references().keySet().stream()
        .filter(key -> !key.equals(snapshot))
        .forEach(key -> assertThat(possible).containsKey(key));
  }

  private void takeAllAway(ReferenceTracker tracker, String snapshot) {
    possible
        .keySet()
        .forEach(
            key -> assertThat(tracker.remove(snapshot, key)).isEqualTo(RemoveResult.REMAINING));
    assertThat(tracker.mask(snapshot, snapshot)).isEqualTo(RemoveResult.LAST);
  }
}
