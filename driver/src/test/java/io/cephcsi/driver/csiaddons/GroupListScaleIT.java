package io.cephcsi.driver.csiaddons;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thousand groups, listed while others come and go; how many, {@code list.groups} says. */
class GroupListScaleIT extends GroupCase {
  private static final Logger LOG = LoggerFactory.getLogger(GroupListScaleIT.class);
  private static final int GROUPS = Integer.getInteger("list.groups", 1000);
  private static final int PAGE = 7;
  private static final int CLIENTS = 8;

  @Test
  void noGroupThatStaysIsMissedByPagesOfSeven() throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    AtomicBoolean done = new AtomicBoolean();
    try {
      Set<String> staying =
          new HashSet<>(
              all(
                  clients,
                  IntStream.range(0, GROUPS)
                      .<Callable<String>>mapToObj(
                          i -> () -> groups.create(newName()).getVolumeGroupId())
                      .toList()));
      assertThat(staying).hasSize(GROUPS);
      Future<Integer> comingAndGoing = clients.submit(() -> comeAndGo(done));
      long start = System.nanoTime();
      List<String> listed = listAll();
      LOG.warn(
          "{} groups in pages of {}: {}",
          GROUPS,
          PAGE,
          Duration.ofNanos(System.nanoTime() - start));
      done.set(true);
      assertThat(comingAndGoing.get()).isPositive();
      assertThat(listed).doesNotHaveDuplicates().containsAll(staying);
      assertThat(
              all(
                  clients,
                  staying.stream()
                      .<Callable<String>>map(
                          id ->
                              () -> {
                                groups.delete(id);
                                return id;
                              })
                      .toList()))
          .hasSize(GROUPS);
      assertThat(listAll()).isEmpty();
    } finally {
      done.set(true);
      clients.shutdownNow();
    }
  }

  /** Makes and deletes groups until the list is complete; how many. */
  private static int comeAndGo(AtomicBoolean done) {
    int count = 0;
    while (!done.get()) {
      groups.delete(groups.create(newName()).getVolumeGroupId());
      count++;
    }
    return count;
  }

  private static List<String> listAll() {
    List<String> ids = new ArrayList<>();
    String token = "";
    do {
      ListVolumeGroupsResponse page =
          driver.groups().listVolumeGroups(TestGroups.listRequest(PAGE, token));
      assertThat(page.getEntriesCount()).isLessThanOrEqualTo(PAGE);
      page.getEntriesList().forEach(entry -> ids.add(entry.getVolumeGroup().getVolumeGroupId()));
      token = page.getNextToken();
    } while (!token.isEmpty());
    return ids;
  }

  private static <T> List<T> all(ExecutorService clients, List<Callable<T>> calls)
      throws Exception {
    List<T> results = new ArrayList<>();
    for (Future<T> future : clients.invokeAll(calls)) {
      results.add(future.get());
    }
    return results;
  }
}
