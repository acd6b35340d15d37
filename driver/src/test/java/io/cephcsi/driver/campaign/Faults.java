package io.cephcsi.driver.campaign;

import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.testing.LocalCluster;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A fault every four seconds: a driver is killed and started again, a daemon of the cluster is
 * stopped for up to 14 s, or the network of a driver is cut for as long. All end with {@link
 * #close}, and with it everything that was stopped goes on.
 */
final class Faults implements AutoCloseable {
  private static final int PERIOD_MILLIS = 4000;
  private static final int LONGEST_MILLIS = 14_000;

  private final LocalCluster cluster;
  private final Network network;
  private final List<DriverSeat> seats;
  private final List<String> daemons;
  private final Tally tally;
  private final Random random;
  private final ServedProcess[] processes;
  private final List<String> outputs = new ArrayList<>();
  private final Set<String> broken = new HashSet<>();
  private boolean ended;
  private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(2);

  /** Starts the drivers; faults begin with {@link #begin}. */
  Faults(
      LocalCluster cluster,
      Network network,
      List<DriverSeat> seats,
      List<String> daemons,
      Tally tally,
      long seed) {
    this.cluster = cluster;
    this.network = network;
    this.seats = seats;
    this.daemons = daemons;
    this.tally = tally;
    this.random = new Random(seed);
    this.processes = new ServedProcess[seats.size()];
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    for (int i = 0; i < processes.length; i++) {
      processes[i] = seats.get(i).start();
      seats.get(i).awaitReady(processes[i]);
    }
  }

  /** Begins with the faults. */
  @SuppressWarnings("FutureReturnValueIgnored")
  void begin() {
    timer.scheduleAtFixedRate(this::strike, PERIOD_MILLIS, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void strike() {
    try {
      int driver = random.nextInt(processes.length);
      int millis = 1000 + random.nextInt(LONGEST_MILLIS - 1000);
      int kind = random.nextInt(10);
      if (kind < 4) {
        kill(driver);
      } else if (kind < 9 || !network.isPossible()) {
        String daemon = daemons.get(random.nextInt(daemons.size()));
        breakFor(daemon, millis, () -> cluster.pause(daemon), () -> cluster.resume(daemon));
      } else {
        breakFor("link " + driver, millis, () -> network.cut(driver), () -> network.join(driver));
      }
    } catch (RuntimeException e) {
      tally.wrong("a fault failed: " + e);
    }
  }

  private synchronized void kill(int driver) {
    if (ended) {
      return;
    }
    outputs.add(processes[driver].output());
    processes[driver].kill();
    processes[driver].close();
    processes[driver] = seats.get(driver).start();
    tally.fault("driver killed");
  }

  @SuppressWarnings("FutureReturnValueIgnored")
  private synchronized void breakFor(String what, int millis, Runnable stop, Runnable mend) {
    if (ended || !broken.add(what)) {
      return;
    }
    tally.fault(what + " stopped");
    stop.run();
    timer.schedule(() -> mend(what, mend), millis, TimeUnit.MILLISECONDS);
  }

  private synchronized void mend(String what, Runnable mend) {
    if (broken.remove(what)) {
      mend.run();
    }
  }

  /** Ends the faults, when that which is being made is made; the drivers run on. */
  void end() {
    synchronized (this) {
      ended = true; // and so nobody schedules anything after the shutdown
      timer.shutdown();
      for (String what : broken) {
        if (what.startsWith("link ")) {
          network.join(Integer.parseInt(what.substring("link ".length())));
        } else {
          cluster.resume(what);
        }
      }
      broken.clear();
    }
    for (int i = 0; i < processes.length; i++) {
      seats.get(i).awaitReady(processes[i]);
    }
  }

  /** All that the drivers printed. */
  synchronized String output() {
    StringBuilder all = new StringBuilder();
    outputs.forEach(all::append);
    for (ServedProcess process : processes) {
      all.append(process.output());
    }
    return all.toString();
  }

  @Override
  public void close() {
    timer.shutdownNow();
    for (ServedProcess process : processes) {
      process.close();
    }
  }
}
