package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How long users wait: from a claim to its being bound, and from a pod to its running. Prints
 * figures and judges none. Run by {@code ci/kubernetes test -- -Dit.test=ClaimTimes} on a quiet
 * machine; a method alone by {@code ClaimTimes#one*}.
 */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ClaimTimes {
  private static final int ROUNDS = 20;
  private static final Duration TIME = Duration.ofMinutes(10);

  @ParameterizedTest
  @CsvSource({RBD, CEPHFS})
  void oneClaimAndItsPodAtATime(String storageClass) {
    try (Kubernetes kubernetes = new Kubernetes();
        Clock clock = new Clock(kubernetes)) {
      List<Long> bound = new ArrayList<>();
      List<Long> running = new ArrayList<>();
      for (int i = 0; i < ROUNDS; i++) {
        String name = "one-" + i;
        clock.begin(name);
        kubernetes.claim(name, storageClass, "64Mi");
        bound.add(clock.awaitBound(name));
        clock.begin(name);
        TestPod pod = kubernetes.pod(name).with(name).create();
        running.add(clock.awaitRunning(name));
        pod.delete();
      }
      print(storageClass + ", 1 at a time: claim to bound", bound);
      print(storageClass + ", 1 at a time: pod to running", running);
    }
  }

  @ParameterizedTest
  @CsvSource({RBD + ",50", CEPHFS + ",50"})
  void manyClaimsAndTheirPodsAtOnce(String storageClass, int claims) {
    try (Kubernetes kubernetes = new Kubernetes();
        Clock clock = new Clock(kubernetes)) {
      List<String> names = IntStream.range(0, claims).mapToObj(i -> "many-" + i).toList();
      for (String name : names) {
        clock.begin(name);
        kubernetes.claim(name, storageClass, "64Mi");
      }
      print(
          storageClass + ", " + claims + " at once: claim to bound",
          names.stream().map(clock::awaitBound).toList());
      for (String name : names) {
        clock.begin(name);
        kubernetes.pod(name).with(name).create();
      }
      print(
          storageClass + ", " + claims + " at once: pod to running",
          names.stream().map(clock::awaitRunning).toList());
    }
  }

  @Test
  void aHundredClaimsAtOnceAndWhatTheDriverTakes() {
    try (Kubernetes kubernetes = new Kubernetes();
        Clock clock = new Clock(kubernetes)) {
      Duration before = cpu();
      long began = System.nanoTime();
      List<String> names = IntStream.range(0, 100).mapToObj(i -> "hundred-" + i).toList();
      for (int i = 0; i < names.size(); i++) {
        clock.begin(names.get(i));
        kubernetes.claim(names.get(i), i % 2 == 0 ? RBD : CEPHFS, "64Mi");
      }
      print("50 of each at once: claim to bound", names.stream().map(clock::awaitBound).toList());
      System.out.printf(
          "100 claims: all bound after %.1f s, CPU of the driver %.2f s%n",
          (System.nanoTime() - began) / 1e9, cpu().minus(before).toMillis() / 1e3);
      assertThat(cpu()).isGreaterThan(before);
    }
  }

  /** Of all processes of the driver on this machine. */
  private static Duration cpu() {
    return ProcessHandle.allProcesses()
        .filter(
            process ->
                process.info().commandLine().filter(l -> l.contains("io.cephcsi")).isPresent()
                    && process.info().commandLine().filter(l -> l.contains(" serve ")).isPresent())
        .map(process -> process.info().totalCpuDuration().orElse(Duration.ZERO))
        .reduce(Duration.ZERO, Duration::plus);
  }

  private static void print(String what, List<Long> millis) {
    List<Long> sorted = millis.stream().sorted().toList();
    int last = sorted.size() - 1;
    System.out.printf(
        "TIMES %s: median %.2f s, shortest %.2f s, longest %.2f s (%d)%n",
        what,
        (sorted.get(last / 2) + sorted.get((last + 1) / 2)) / 2e3,
        sorted.get(0) / 1e3,
        sorted.get(last) / 1e3,
        sorted.size());
  }

  /** When the API told that claims were bound and pods ran. */
  private static final class Clock implements AutoCloseable {
    private final Map<String, Long> began = new ConcurrentHashMap<>();
    private final Map<String, Long> bound = new ConcurrentHashMap<>();
    private final Map<String, Long> running = new ConcurrentHashMap<>();
    private final AutoCloseable claims;
    private final AutoCloseable pods;

    Clock(Kubernetes kubernetes) {
      claims =
          kubernetes
              .client()
              .persistentVolumeClaims()
              .inNamespace(kubernetes.namespace())
              .watch(
                  new Seen<PersistentVolumeClaim>() {
                    @Override
                    void seen(PersistentVolumeClaim claim) {
                      if ("Bound".equals(claim.getStatus().getPhase())) {
                        bound.putIfAbsent(claim.getMetadata().getName(), System.nanoTime());
                      }
                    }
                  });
      pods =
          kubernetes
              .client()
              .pods()
              .inNamespace(kubernetes.namespace())
              .watch(
                  new Seen<Pod>() {
                    @Override
                    void seen(Pod pod) {
                      if ("Running".equals(pod.getStatus().getPhase())) {
                        running.putIfAbsent(pod.getMetadata().getName(), System.nanoTime());
                      }
                    }
                  });
    }

    void begin(String name) {
      began.put(name, System.nanoTime());
    }

    long awaitBound(String name) {
      return await(name, bound);
    }

    long awaitRunning(String name) {
      return await(name, running);
    }

    private long await(String name, Map<String, Long> times) {
      long end =
          Awaitility.await(name)
              .atMost(TIME)
              .pollInterval(Duration.ofMillis(20))
              .until(() -> times.getOrDefault(name, 0L), time -> time != 0);
      return (end - began.getOrDefault(name, end)) / 1_000_000;
    }

    @Override
    public void close() {
      try (claims;
          pods) {
        assertThat(began).isNotEmpty();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  /** A watcher that is told objects. */
  private abstract static class Seen<T> implements Watcher<T> {
    abstract void seen(T object);

    @Override
    public void eventReceived(Action action, T object) {
      if (action == Action.ADDED || action == Action.MODIFIED) {
        seen(object);
      }
    }

    @Override
    public void onClose(WatcherException cause) {
      throw new AssertionError("the API server ended a watch", cause);
    }
  }
}
