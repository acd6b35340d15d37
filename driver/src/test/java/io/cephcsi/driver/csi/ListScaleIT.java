package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lists of many volumes; how many, the property {@code list.volumes} says. The times go to the log.
 */
class ListScaleIT {
  private static final Logger LOG = LoggerFactory.getLogger(ListScaleIT.class);
  private static final int VOLUMES = Integer.getInteger("list.volumes", 60);

  @Test
  void manyVolumesAreListedInOneAnswerAndInPages() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(8);
    try (TestDriver driver =
        TestDriver.rbd(TestCluster.shared())
            .instance("scale-" + UUID.randomUUID())
            .withCredentials()
            .start()) {
      List<String> ids =
          all(
              clients,
              IntStream.range(0, VOLUMES)
                  .<Callable<String>>mapToObj(
                      i -> () -> driver.create("pvc-" + i, 1 << 20).getVolumeId())
                  .toList());
      for (int i = 0; i < 3; i++) {
        long start = System.nanoTime();
        assertThat(list(driver, 0, "").getEntriesCount()).isEqualTo(VOLUMES);
        LOG.warn("{} volumes in one answer: {}", VOLUMES, since(start));
      }
      long start = System.nanoTime();
      int count = 0;
      String token = "";
      do {
        ListVolumesResponse page = list(driver, 100, token);
        count += page.getEntriesCount();
        token = page.getNextToken();
      } while (!token.isEmpty());
      assertThat(count).isEqualTo(VOLUMES);
      LOG.warn("{} volumes in pages of 100: {}", VOLUMES, since(start));
      assertThat(
              all(
                  clients,
                  ids.stream()
                      .<Callable<String>>map(
                          id ->
                              () -> {
                                driver.delete(id);
                                return id;
                              })
                      .toList()))
          .hasSize(VOLUMES);
      // Other tests wait for the trash, too: they must not wait for these images.
      List<String> uuids = ids.stream().map(id -> id.substring(id.length() - 36)).toList();
      Awaitility.await()
          .atMost(Duration.ofMinutes(10))
          .until(
              () -> {
                String trash = TestCluster.shared().rbd("trash", "ls", "rbd");
                return uuids.stream().noneMatch(trash::contains);
              });
    } finally {
      clients.shutdownNow();
    }
  }

  private static Duration since(long start) {
    return Duration.ofNanos(System.nanoTime() - start);
  }

  private static <T> List<T> all(ExecutorService clients, List<Callable<T>> calls)
      throws Exception {
    List<T> results = new ArrayList<>();
    for (Future<T> future : clients.invokeAll(calls)) {
      results.add(future.get());
    }
    return results;
  }

  private static ListVolumesResponse list(TestDriver driver, int max, String token) {
    return driver
        .controller()
        .listVolumes(
            ListVolumesRequest.newBuilder().setMaxEntries(max).setStartingToken(token).build());
  }
}
