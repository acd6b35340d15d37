package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** What the races of calls share: a second driver, which does not know the first one's locks. */
abstract class GroupRaceCase extends GroupCase {
  private final ExecutorService clients = Executors.newFixedThreadPool(2);
  TestDriver other = driver;
  TestGroups theirs = groups;

  @BeforeEach
  void startOther() {
    other = TestDriver.rbd(CLUSTER).instance(driver.instanceId()).withCredentials().start();
    theirs = new TestGroups(CLUSTER, other);
  }

  @AfterEach
  void stopOther() {
    clients.shutdownNow();
    other.close();
  }

  /** How two calls ended. */
  record Ends(Code ours, Code theirs) {}

  /** Runs two calls at once, the one or the other a little ahead. */
  Ends race(int round, Runnable ours, Runnable theirs) throws Exception {
    CyclicBarrier start = new CyclicBarrier(2);
    int ahead = round % 8 * 15 - 30;
    Future<Code> first = clients.submit(at(start, Math.max(0, -ahead), ours));
    Future<Code> second = clients.submit(at(start, Math.max(0, ahead), theirs));
    return new Ends(first.get(), second.get());
  }

  private static Callable<Code> at(CyclicBarrier start, int millis, Runnable call) {
    return () -> {
      start.await();
      Thread.sleep(millis);
      try {
        call.run();
        return Code.OK;
      } catch (StatusRuntimeException e) {
        return e.getStatus().getCode();
      }
    };
  }
}
