package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.ListEntry;
import io.cephcsi.driver.volume.ListPage;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages of lists by the size of what is in them. */
class ListingIT extends JournalCase {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int NAMES = 100;

  private final String instance = "listing-" + UUID.randomUUID();
  private final List<JournalEntry> reserved = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private IoContext io;

  @BeforeEach
  void reserve() {
    io = connection.openPool(CLUSTER.pool());
    for (int i = 0; i < NAMES; i++) {
      reserved.add(journal().reserve("pvc-" + i, JournalCase::volumeName, Map.of()));
      names.add("pvc-" + i);
    }
  }

  private Journal journal() {
    return new Journal(JournalKind.VOLUME, instance, io, io);
  }

  @AfterEach
  void remove() {
    reserved.forEach(journal()::remove);
    io.close();
  }

  /** The pages of all names, each of which takes so many bytes of an answer. */
  private List<ListPage<Sized>> pages(Path folder, int bytes, int max, int batch)
      throws IOException {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    Path credentials = TestDriver.credentialsFolder(CLUSTER, folder, CLUSTER.rbdUser());
    List<ListPage<Sized>> pages = new ArrayList<>();
    try (ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1)) {
      DriverConnections access =
          new DriverConnections(
              Storage.RBD, clusters, new CredentialsDirectory(credentials), connections);
      String token = "";
      do {
        ListPage<Sized> page =
            new Listing<>(
                    access,
                    executors,
                    JournalKind.VOLUME,
                    instance,
                    new OfSize(io.poolId(), bytes, batch),
                    max,
                    token)
                .read();
        assertThat(page.entries()).isNotEmpty();
        pages.add(page);
        token = page.nextToken();
      } while (!token.isEmpty());
    }
    return pages;
  }

  private void assertAllOnce(List<ListPage<Sized>> pages) {
    assertThat(pages.stream().flatMap(page -> page.entries().stream()).map(Sized::name).toList())
        .containsExactlyInAnyOrderElementsOf(names);
  }

  @Test
  void aPageEndsBeforeAnAnswerIsTooLarge(@TempDir Path folder) throws IOException {
    int bytes = 100 << 10;
    for (int batch : List.of(1, 7, Integer.MAX_VALUE)) {
      List<ListPage<Sized>> pages = pages(folder, bytes, 0, batch);
      assertThat(pages).hasSize(4); // 30 entries are less than 3 MiB, 31 are more
      assertThat(pages)
          .allSatisfy(
              page -> assertThat(page.entries().size() * bytes).isLessThanOrEqualTo(3 << 20));
      assertAllOnce(pages);
    }
  }

  @Test
  void anEntryThatIsLargerIsAPageOfItsOwn(@TempDir Path folder) throws IOException {
    List<ListPage<Sized>> pages = pages(folder, 4 << 20, 0, Integer.MAX_VALUE);
    assertThat(pages).hasSize(NAMES);
    assertAllOnce(pages);
  }

  @Test
  void smallEntriesAreCounted(@TempDir Path folder) throws IOException {
    assertThat(pages(folder, 100, 0, Integer.MAX_VALUE)).hasSize(1);
    List<ListPage<Sized>> pages = pages(folder, 100, 30, 7);
    assertThat(pages.stream().map(page -> page.entries().size()).toList())
        .containsExactly(30, 30, 30, 10);
    assertAllOnce(pages);
  }

  private record Sized(String name, int bytes) implements ListEntry {}

  /** Gives the names themselves. */
  private record OfSize(long pool, int size, int batch) implements ListReader<Sized> {
    @Override
    public List<Long> journalPools(ClusterView cluster) {
      return List.of(pool);
    }

    @Override
    public List<Optional<Sized>> read(
        ClusterView cluster, IoContext journalPool, List<Name> names) {
      assertThat(names.size()).isLessThanOrEqualTo(batch);
      return names.stream().map(name -> Optional.of(new Sized(name.requestName(), size))).toList();
    }
  }
}
