package io.cephcsi.driver.tracker;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A program whose threads add, mask and remove references of one tracker at random until it is
 * killed, each thread its own keys. It says before each call what it is about to do, and afterwards
 * that it is done: {@code begin KEY CALL} and {@code done KEY CALL RESULT}.
 */
final class TrackerClients {
  private TrackerClients() {}

  /** Takes ceph.conf, pool, namespace, snapshot id, prefix of the keys, threads, calls, seed. */
  public static void main(String[] args) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    try (RadosCluster cluster =
            RadosCluster.connect(
                ConnectionSettings.user("admin").configFile(Path.of(args[0])).build());
        IoContext io = cluster.openPool(args[1], args[2])) {
      ReferenceTracker tracker = new Trackers().in(io);
      for (int i = 0; i < Integer.parseInt(args[5]); i++) {
        Random random = new Random(Long.parseLong(args[7]) + i);
        String keys = args[4] + "-" + i + "-";
        Thread thread =
            new Thread(() -> work(tracker, args[3], keys, Integer.parseInt(args[6]), random));
        thread.setUncaughtExceptionHandler((failed, e) -> say("failed " + e));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    say("end");
  }

  private static void work(
      ReferenceTracker tracker, String snapshot, String keys, int calls, Random random) {
    for (int i = 0; i < calls; i++) {
      String key = keys + random.nextInt(5);
      switch (random.nextInt(4)) {
        case 0, 1 -> {
          say("begin " + key + " add");
          tracker.add(snapshot, List.of(snapshot, key));
          say("done " + key + " add REMAINING");
        }
        case 2 -> {
          say("begin " + key + " remove");
          say("done " + key + " remove " + tracker.remove(snapshot, key));
        }
        default -> {
          say("begin " + key + " mask");
          say("done " + key + " mask " + tracker.mask(snapshot, key));
        }
      }
    }
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
