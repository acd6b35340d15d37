package io.cephcsi.driver.campaign;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * Random calls by several clients to two drivers on the same names, with a fault every four
 * seconds; then everything that was answered is compared with the cluster, and nothing else may be
 * there. A minute for each storage, half an hour with {@code CEPH_CSI_TEST_CAMPAIGN=full}; {@code
 * CEPH_CSI_TEST_CAMPAIGN_SECONDS} says otherwise, and {@code CEPH_CSI_TEST_CAMPAIGN_FAULTS=none}
 * shows how many calls there are without faults. {@code CEPH_CSI_TEST_SEED} repeats the calls and
 * the faults.
 */
class CampaignIT {
  private static final int CLIENTS = 4;
  private static final List<String> DAEMONS = List.of("mon.a", "mgr.x", "mds.a", "osd.0");
  private static final int SECONDS = seconds();
  private static final boolean FAULTS =
      !"none".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN_FAULTS"));
  private static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(10);
  private static final Duration REST = Duration.ofMinutes(2);

  private static int seconds() {
    String given = System.getenv("CEPH_CSI_TEST_CAMPAIGN_SECONDS");
    if (given != null) {
      return Integer.parseInt(given);
    }
    return "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 1800 : 60;
  }

  @Test
  void imagesAreAsTheDriversAnswered() {
    Tries.times(1, values -> run("campaign-rbd", Storage.Images::new, values.number()));
  }

  @Test
  void subvolumesAreAsTheDriversAnswered() {
    Tries.times(1, values -> run("campaign-fs", Storage.Subvolumes::new, values.number()));
  }

  private static void run(String name, Function<TestCluster, Storage> open, long seed)
      throws Exception {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    Tally tally = new Tally();
    try (Network network = new Network(2);
        LocalCluster cluster = TestCluster.start(name, "--address", network.address());
        Storage storage = open.apply(cluster)) {
      String user =
          switch (storage.type()) {
            case RBD -> cluster.rbdUser();
            case CEPHFS -> cluster.cephFsUser();
          };
      List<DriverSeat> seats =
          IntStream.range(0, 2)
              .mapToObj(
                  i ->
                      new DriverSeat(
                          storage.type(),
                          cluster,
                          user,
                          network.starter(i),
                          "--connect-timeout=5",
                          "--operation-timeout=" + OPERATION_TIMEOUT.toSeconds()))
              .toList();
      try (Faults faults = new Faults(cluster, network, seats, DAEMONS, tally, seed)) {
        Calls calls = new Calls(seats, tally);
        List<Client> clients =
            IntStream.range(0, CLIENTS)
                .mapToObj(i -> new Client(name + "-" + i, calls, storage, cluster, seed + i))
                .toList();
        try {
          work(faults, clients, tally);
        } finally {
          System.out.println(name + ": " + tally);
          tally.unexpected().forEach(text -> System.out.println(storage.describe(text)));
        }
        assertThat(tally.unexpected()).as(tally::toString).isEmpty();
        compare(storage, clients);
        assertThat(tally.unexpected()).isEmpty();
        inParallel(clients, Client::deleteAll);
        Awaitility.await("what is left after two minutes of rest")
            .atMost(REST)
            .pollInterval(Duration.ofSeconds(2))
            .untilAsserted(() -> assertThat(storage.everything()).isEmpty());
        // A reclaim waits up to five minutes for a cluster that is not healthy; the machine is
        // busy.
        assertThat(tally.slowestExcept("ControllerReclaimSpace"))
            .as(tally::toString)
            .isLessThan(OPERATION_TIMEOUT.plusSeconds(5));
      } finally {
        seats.forEach(DriverSeat::close);
      }
    }
  }

  /** Ends before the time when something went wrong, while it can still be looked into. */
  private static void work(Faults faults, List<Client> clients, Tally tally) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    if (FAULTS) {
      faults.begin();
    }
    try {
      inParallel(
          clients,
          client -> client.run(() -> System.nanoTime() > end || !tally.unexpected().isEmpty()));
    } finally {
      faults.end();
    }
  }

  private interface Work {
    void of(Client client) throws Exception;
  }

  private static void inParallel(List<Client> clients, Work work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (Client client : clients) {
        running.add(
            threads.submit(
                () -> {
                  work.of(client);
                  return null;
                }));
      }
      for (Future<?> each : running) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** Subvolumes of deleted volumes stay for their snapshots; those for shallow volumes. */
  private static void compare(Storage storage, List<Client> clients) {
    Set<String> expected = new TreeSet<>();
    clients.forEach(client -> expected.addAll(client.expected()));
    Set<String> present = storage.present();
    assertThat(present).containsAll(expected);
    clients.forEach(Client::compare);
    System.out.println(
        clients.stream().mapToInt(Client::size).sum() + " volumes and snapshots compared");
  }
}
