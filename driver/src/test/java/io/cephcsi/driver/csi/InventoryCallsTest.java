package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.cluster.VolumeAttachments;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.Capacity;
import io.cephcsi.driver.volume.Inventory;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class InventoryCallsTest {
  private static final int THREADS = 2;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private Path folder;

  /** A list of all clusters waits as long as one of them does. */
  @Test
  void listsThatHangHoldUpNothingThatIsAboutAnotherCluster() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("config.json"),
            """
            [{"clusterID": "hangs", "monitors": ["m"]}, {"clusterID": "answers", "monitors": ["n"]}]
            """);
    ClusterDirectory clusters = new ClusterDirectory(file);
    CountDownLatch end = new CountDownLatch(1);
    try (ClusterExecutors executors = new ClusterExecutors(clusters, THREADS, 1);
        ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE)) {
      InventoryCalls calls = calls(clusters, executors, connections, end);
      List<CompletableFuture<?>> lists =
          Stream.<CompletableFuture<?>>generate(
                  () -> calls.listVolumes(ListVolumesRequest.getDefaultInstance()))
              .limit(THREADS + 1)
              .toList();
      assertThat(
              calls.getCapacity(
                  GetCapacityRequest.newBuilder().putParameters("clusterID", "answers").build()))
          .succeedsWithin(PATIENCE);
      assertThat(
              calls.listSnapshots(
                  ListSnapshotsRequest.newBuilder()
                      .setSourceVolumeId(new VolumeId("answers", 1, UUID.randomUUID()).toString())
                      .build()))
          .succeedsWithin(PATIENCE);
      assertThat(lists).noneMatch(CompletableFuture::isDone);
      end.countDown();
      assertThat(lists).allSatisfy(list -> assertThat(list).succeedsWithin(PATIENCE));
    } finally {
      end.countDown();
    }
  }

  private static InventoryCalls calls(
      ClusterDirectory clusters,
      ClusterExecutors executors,
      ConnectionPool connections,
      CountDownLatch end) {
    DriverConnections access =
        DriverConnections.byCaller(
            Storage.CEPHFS, clusters, new Credentials("admin", "none"), connections);
    Inventory inventory =
        fake(
            Inventory.class,
            Map.of(
                "volumes",
                () -> {
                  end.await();
                  return new ListPage<>(List.of(), "");
                },
                "snapshots",
                () -> new ListPage<>(List.of(), "")));
    Capacity.Source capacity =
        fake(Capacity.Source.class, Map.of("of", () -> new Capacity(1, OptionalLong.empty())));
    ControllerBackend backend =
        (ControllerBackend)
            Proxy.newProxyInstance(
                InventoryCallsTest.class.getClassLoader(),
                new Class<?>[] {ControllerBackend.class},
                (proxy, method, arguments) ->
                    switch (method.getName()) {
                      case "storage" -> Storage.CEPHFS;
                      case "executor" -> executors.calls(Storage.CEPHFS, (String) arguments[0]);
                      case "unsupported" -> Optional.empty();
                      default -> throw new IllegalStateException(method.getName());
                    });
    return new InventoryCalls(
        new SecretlessBackend(
            access,
            inventory,
            capacity,
            fake(VolumeAttachments.class, Map.of()),
            new NodeRegistry(access, "default", Optional.empty()),
            false),
        backend,
        new OperationRegistry(PATIENCE.multipliedBy(2)),
        executors);
  }

  /** What a method answers. */
  private interface Answer {
    Object give() throws InterruptedException;
  }

  private static <T> T fake(Class<T> type, Map<String, Answer> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              Answer answer = answers.get(method.getName());
              if (answer == null) {
                throw new IllegalStateException(method.getName());
              }
              return answer.give();
            }));
  }
}
