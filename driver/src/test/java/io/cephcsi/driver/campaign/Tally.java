package io.cephcsi.driver.campaign;

import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What happened in a campaign. Safe for several threads. */
final class Tally {
  private final Map<String, Integer> answers = new TreeMap<>();
  private final Map<String, Integer> faults = new TreeMap<>();
  private final List<String> unexpected = new ArrayList<>();
  private final Map<String, Long> slowest = new TreeMap<>();
  private int calls;
  private int done;

  /** An attempt at a call was answered by a driver. */
  synchronized void answered(String method, Code code, String text, long nanos) {
    calls++;
    answers.merge(code.name(), 1, Integer::sum);
    if (code == Code.OK) {
      done++;
    }
    slowest.merge(method + " " + code, nanos / 1_000_000, Math::max);
    if (code == Code.INTERNAL || code == Code.UNKNOWN || code == Code.UNIMPLEMENTED) {
      unexpected.add(method + ": " + code + ": " + text);
    }
  }

  synchronized void fault(String kind) {
    faults.merge(kind, 1, Integer::sum);
  }

  synchronized void wrong(String what) {
    unexpected.add(what);
  }

  /** What no call may be answered, and what was not as promised. */
  synchronized List<String> unexpected() {
    return List.copyOf(unexpected);
  }

  /** How many calls were answered with OK. */
  synchronized int done() {
    return done;
  }

  /** The slowest answer, except of a method that may take longer. */
  synchronized Duration slowestExcept(String method) {
    return Duration.ofMillis(
        slowest.entrySet().stream()
            .filter(answer -> !answer.getKey().startsWith(method + " "))
            .mapToLong(Map.Entry::getValue)
            .max()
            .orElse(0));
  }

  @Override
  public synchronized String toString() {
    List<String> slow =
        slowest.entrySet().stream()
            .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
            .limit(8)
            .map(each -> each.getKey() + " " + each.getValue() + " ms")
            .toList();
    return calls
        + " answers, "
        + done
        + " OK "
        + answers
        + "; faults "
        + faults.values().stream().mapToInt(i -> i).sum()
        + " "
        + faults
        + "; slowest "
        + slow
        + "; unexpected "
        + unexpected.size();
  }
}
