package io.cephcsi.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * How long does the first call of each kind take beside the hundredth, in processes that have their
 * own credentials and prepare themselves after the start?
 */
final class FirstCallsQuestion implements Question {
  private static final int CALLS = 100;
  private static final int LAST = 15;
  private static final double LEAST_RATIO = 1 / 3.0;
  private static final String HUNDREDTH = "the hundredth (median of the last 15)";

  @Override
  public List<Finding> ask(BenchSetup setup) throws Exception {
    int starts = setup.scaled(7, 3);
    Map<String, double[]> first = new LinkedHashMap<>();
    Map<String, double[]> hundredth = new LinkedHashMap<>();
    makeJournals(setup);
    for (int i = 0; i < starts; i++) {
      DriverState driver = new DriverState();
      driver.start(setup.conf(), true);
      driver.awaitPrepared();
      try {
        for (ControllerCalls calls :
            List.of(ControllerCalls.rbd(driver), ControllerCalls.cephFs(driver))) {
          int start = i;
          times(calls)
              .forEach(
                  (kind, millis) -> {
                    put(first, starts, calls.storage() + " " + kind, start, millis[0]);
                    double[] last = Arrays.copyOfRange(millis, CALLS - LAST, CALLS);
                    put(
                        hundredth,
                        starts,
                        calls.storage() + " " + kind,
                        start,
                        Finding.percentile(last, 50));
                  });
        }
      } finally {
        driver.stop();
      }
    }
    List<Finding> findings = new ArrayList<>();
    first.forEach(
        (kind, millis) ->
            findings.add(
                Finding.time("first-" + kind.replace(' ', '-'), "the first " + kind, "ms", millis)
                    .beside(HUNDREDTH, hundredth.getOrDefault(kind, millis))
                    .atLeast(HUNDREDTH, LEAST_RATIO)));
    return findings;
  }

  private static void put(
      Map<String, double[]> all, int length, String kind, int index, double millis) {
    all.computeIfAbsent(kind, k -> new double[length])[index] = millis;
  }

  /** A driver prepares for what it finds journals of. */
  private static void makeJournals(BenchSetup setup) throws Exception {
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try {
      for (ControllerCalls calls :
          List.of(ControllerCalls.rbd(driver), ControllerCalls.cephFs(driver))) {
        calls.delete(calls.create("bench-" + UUID.randomUUID(), ""));
      }
    } finally {
      driver.stop();
    }
  }

  private static Map<String, double[]> times(ControllerCalls calls) {
    Map<String, double[]> seen = new LinkedHashMap<>();
    for (int i = 0; i < CALLS; i++) {
      String name = "bench-" + UUID.randomUUID();
      String[] ids = new String[3];
      time(seen, "create", i, () -> ids[0] = calls.create(name, ""));
      time(seen, "the same again", i, () -> ids[0] = calls.create(name, ""));
      time(seen, "snapshot", i, () -> ids[1] = calls.snapshot(ids[0], name + "-snapshot"));
      time(seen, "restore", i, () -> ids[2] = calls.create(name + "-restored", ids[1]));
      time(seen, "delete the restored", i, () -> calls.delete(ids[2]));
      time(seen, "delete the snapshot", i, () -> calls.deleteSnapshot(ids[1]));
      time(seen, "delete", i, () -> calls.delete(ids[0]));
    }
    return seen;
  }

  private static void time(Map<String, double[]> seen, String kind, int call, Runnable work) {
    long begin = System.nanoTime();
    work.run();
    put(seen, CALLS, kind, call, (System.nanoTime() - begin) / 1e6);
  }
}
