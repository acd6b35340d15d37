package io.cephcsi.driver.year;

import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.MirrorNetwork;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.MirroredClusters;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Interruptions of two sites: a driver is killed and started again, a daemon is stopped for some
 * seconds, the daemons that mirror are killed and started again, or the network between the sites
 * is cut for some seconds. Each begins within a moment after it was asked for, so that it meets the
 * call that follows.
 */
final class Disturbances implements AutoCloseable {
  private static final List<String> DAEMONS = List.of("mon.a", "mgr.x", "osd.0");
  private static final String NETWORK = "network";
  private static final int MOMENT_MILLIS = 400;
  private static final int LONGEST_MILLIS = 8000;

  private final MirrorNetwork network;
  private final MirroredClusters clusters;
  private final List<DriverSeat> seats;
  private final ServedProcess[] processes;
  private final Random random;
  private final Map<String, Integer> counts = new TreeMap<>();
  private final Set<String> broken = new HashSet<>();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private int left;
  private boolean mayCut = true;

  /**
   * Starts the drivers.
   *
   * @param seats of the driver of each site
   * @param count how many interruptions there will be
   */
  Disturbances(MirrorNetwork network, List<DriverSeat> seats, int count, long seed) {
    this.network = network;
    this.clusters = network.clusters();
    this.seats = seats;
    this.left = count;
    this.random = new Random(seed);
    this.processes = new ServedProcess[seats.size()];
    for (int i = 0; i < processes.length; i++) {
      processes[i] = seats.get(i).start();
      seats.get(i).awaitReady(processes[i]);
    }
  }

  private LocalCluster cluster(int site) {
    return site == 0 ? clusters.first() : clusters.second();
  }

  /** Whether the mirroring may be interrupted, or what is done now depends on it. */
  synchronized void mayCut(boolean may) {
    mayCut = may;
  }

  /** Perhaps interrupts something soon. */
  @SuppressWarnings("FutureReturnValueIgnored")
  synchronized void perhaps() {
    if (left == 0 || random.nextInt(3) > 0) {
      return;
    }
    left--;
    int site = random.nextInt(2);
    int millis = 1000 + random.nextInt(LONGEST_MILLIS - 1000);
    int kind = random.nextInt(mayCut ? 11 : 9);
    String daemon =
        kind < 8 ? DAEMONS.get(random.nextInt(DAEMONS.size())) : LocalCluster.MIRROR_DAEMON;
    Runnable work =
        kind < 4
            ? () -> kill(site)
            : kind < 9
                ? () -> stop(site, daemon, millis)
                : kind == 9 || !network.isPossible() ? () -> cut(millis) : () -> cutNetwork(millis);
    timer.schedule(work, random.nextInt(MOMENT_MILLIS), TimeUnit.MILLISECONDS);
  }

  private synchronized void count(String what) {
    counts.merge(what, 1, Integer::sum);
  }

  private synchronized void kill(int site) {
    count("driver killed");
    processes[site].kill();
    processes[site].close();
    processes[site] = seats.get(site).start();
  }

  @SuppressWarnings("FutureReturnValueIgnored")
  private synchronized void stop(int site, String daemon, int millis) {
    if (!broken.add(site + daemon)) {
      left++;
      return;
    }
    count(daemon + " stopped");
    cluster(site).pause(daemon);
    timer.schedule(() -> resume(site, daemon), millis, TimeUnit.MILLISECONDS);
  }

  private synchronized void resume(int site, String daemon) {
    if (broken.remove(site + daemon)) {
      cluster(site).resume(daemon);
    }
  }

  /** Not while one of the two is stopped: a process that is stopped does not end. */
  @SuppressWarnings("FutureReturnValueIgnored")
  private synchronized void cut(int millis) {
    if (broken.stream().anyMatch(what -> what.endsWith(LocalCluster.MIRROR_DAEMON))) {
      left++;
      return;
    }
    count("mirroring cut");
    broken.add("0" + LocalCluster.MIRROR_DAEMON);
    broken.add("1" + LocalCluster.MIRROR_DAEMON);
    clusters.cut();
    timer.schedule(this::join, millis, TimeUnit.MILLISECONDS);
  }

  /** What the daemons send to the other site is lost. */
  @SuppressWarnings("FutureReturnValueIgnored")
  private synchronized void cutNetwork(int millis) {
    if (!broken.add(NETWORK)) {
      left++;
      return;
    }
    count("network cut");
    network.cut();
    timer.schedule(this::joinNetwork, millis, TimeUnit.MILLISECONDS);
  }

  private synchronized void joinNetwork() {
    network.join();
    broken.remove(NETWORK);
  }

  private synchronized void join() {
    clusters.join();
    broken.remove("0" + LocalCluster.MIRROR_DAEMON);
    broken.remove("1" + LocalCluster.MIRROR_DAEMON);
  }

  /** Waits until nothing is interrupted. */
  void rest() throws InterruptedException {
    while (true) {
      synchronized (this) {
        if (broken.isEmpty()) {
          break;
        }
      }
      Thread.sleep(100);
    }
    for (int i = 0; i < processes.length; i++) {
      seats.get(i).awaitReady(processes[i]);
    }
  }

  /** How many are still to come. */
  synchronized int left() {
    return left;
  }

  @Override
  public synchronized String toString() {
    return counts.toString();
  }

  @Override
  public void close() {
    timer.shutdownNow();
    synchronized (this) {
      broken.stream()
          .filter(what -> !what.endsWith(LocalCluster.MIRROR_DAEMON) && !what.equals(NETWORK))
          .forEach(what -> cluster(what.charAt(0) - '0').resume(what.substring(1)));
      for (ServedProcess process : processes) {
        process.close();
      }
    }
  }
}
