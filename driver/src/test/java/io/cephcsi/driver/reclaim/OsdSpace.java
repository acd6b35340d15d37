package io.cephcsi.driver.reclaim;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;

/** What pools have allocated on the OSDs: holes inside of objects, which no diff shows. */
final class OsdSpace {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration REPORTS = Duration.ofSeconds(20); // OSDs and the manager: 5 s each

  private OsdSpace() {}

  private static Map<String, Long> now(TestCluster ceph, List<String> pools) {
    Map<String, Long> bytes = new HashMap<>();
    try {
      JsonNode all = JSON.readTree(ceph.ceph("df", "detail", "--format", "json")).get("pools");
      for (JsonNode each : all) {
        if (pools.contains(each.get("name").asText())) {
          bytes.put(each.get("name").asText(), each.get("stats").get("bytes_used").asLong());
        }
      }
      return bytes;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * The bytes by pool, as soon as they have not changed for a while.
   *
   * @param pools those that nobody else uses
   */
  static Map<String, Long> settled(TestCluster ceph, List<String> pools) {
    AtomicReference<Map<String, Long>> last = new AtomicReference<>(Map.of());
    AtomicLong since = new AtomicLong(System.nanoTime());
    Awaitility.await()
        .atMost(Duration.ofSeconds(240))
        .pollInterval(Duration.ofSeconds(1))
        .until(
            () -> {
              Map<String, Long> now = now(ceph, pools);
              if (!last.getAndSet(now).equals(now)) {
                since.set(System.nanoTime());
              }
              return System.nanoTime() - since.get() > REPORTS.toNanos();
            });
    return last.get();
  }
}
