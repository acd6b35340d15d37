package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/**
 * Random interleavings of calls on snapshots and what shows them, by clients of two driver
 * processes that are killed meanwhile: never is a snapshot gone that a CSI object refers to, and at
 * the end nothing is left. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries more.
 */
class ReferencePropertyIT {
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int CLIENTS = 8;
  private static final int STEPS = FULL ? 30 : 8;
  private static final int KILLS = FULL ? 12 : 2;
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final String INSTANCE = "property";
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);
  private static final Map<String, String> SECRETS =
      TestDriver.secrets(CLUSTER, DriverConfig.Type.CEPHFS);

  /** What a client does. */
  enum Verb {
    SNAPSHOT,
    SHOW,
    SHOW_AGAIN,
    DELETE_SNAPSHOT,
    DELETE_VOLUME
  }

  /** Each as often as it is done. */
  private static final List<Verb> VERBS =
      List.of(
          Verb.SNAPSHOT,
          Verb.SHOW,
          Verb.SHOW,
          Verb.SHOW,
          Verb.SHOW_AGAIN,
          Verb.SHOW_AGAIN,
          Verb.DELETE_SNAPSHOT,
          Verb.DELETE_VOLUME,
          Verb.DELETE_VOLUME);

  /** One thing that a client does, to one of the objects that there are by then. */
  record Step(Verb verb, int choice) {}

  /** A snapshot or shallow volume that was answered, and whether somebody began to delete it. */
  private record Thing(String id, String snapshot, boolean isVolume, AtomicBoolean doomed) {}

  private static Step step(Tries values) {
    return new Step(values.oneOf(VERBS), values.between(0, 999));
  }

  @Test
  void noSnapshotIsGoneThatSomethingRefersToAndNothingIsLeft() {
    Tries.times(
        1,
        values ->
            run(
                values.list(CLIENTS, CLIENTS, () -> values.list(STEPS, STEPS, () -> step(values))),
                values.number()));
  }

  private static void run(List<List<Step>> plans, long seed) throws Exception {
    try (Drivers drivers = new Drivers()) {
      Play play = new Play(drivers);
      ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        int client = i;
        running.add(clients.submit(() -> plans.get(client).forEach(s -> play.act(client, s))));
      }
      Random random = new Random(seed);
      for (int kill = 0; kill < KILLS; kill++) {
        TimeUnit.MILLISECONDS.sleep(500 + random.nextInt(2000));
        drivers.killAndRestart(random.nextInt(2));
      }
      for (Future<?> client : running) {
        client.get();
      }
      clients.shutdown();
      play.requireAllThere();
      play.deleteAll();
    }
    assertThat(STATE.leftovers()).isEmpty();
  }

  /** What the clients share. */
  private static final class Play {
    private final Drivers drivers;
    private final String source;
    private final ConcurrentLinkedQueue<Thing> things = new ConcurrentLinkedQueue<>();

    Play(Drivers drivers) {
      this.drivers = drivers;
      this.source = createVolume(0, Optional.empty()).orElseThrow();
      things.add(snapshot(0));
    }

    private Thing snapshot(int client) {
      CreateSnapshotRequest request =
          CreateSnapshotRequest.newBuilder()
              .setName("snap-" + UUID.randomUUID())
              .setSourceVolumeId(source)
              .putAllSecrets(SECRETS)
              .build();
      String id =
          until(client, c -> c.createSnapshot(request).getSnapshot().getSnapshotId()).orElseThrow();
      return new Thing(id, id, false, new AtomicBoolean());
    }

    private Optional<String> createVolume(int client, Optional<Thing> from) {
      CreateVolumeRequest.Builder request =
          CreateVolumeRequest.newBuilder()
              .setName("pvc-" + UUID.randomUUID())
              .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(1 << 20))
              .addVolumeCapabilities(
                  from.isPresent() ? TestDriver.onlyReader() : TestDriver.singleWriter())
              .putParameters("clusterID", TestDriver.CLUSTER_ID)
              .putParameters("fsName", CLUSTER.fileSystem())
              .putAllSecrets(SECRETS);
      from.ifPresent(thing -> request.setVolumeContentSource(content(thing)));
      return until(client, c -> c.createVolume(request.build()).getVolume().getVolumeId());
    }

    private static VolumeContentSource content(Thing thing) {
      VolumeContentSource.Builder content = VolumeContentSource.newBuilder();
      return (thing.isVolume()
              ? content.setVolume(
                  VolumeContentSource.VolumeSource.newBuilder().setVolumeId(thing.id()))
              : content.setSnapshot(
                  VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(thing.id())))
          .build();
    }

    /** Repeats a call as the CO does; empty when what it needs does not exist any more. */
    private <T> Optional<T> until(int client, Function<ControllerBlockingStub, T> call) {
      long end = System.nanoTime() + PATIENCE.toNanos();
      int turn = client;
      while (true) {
        try {
          return Optional.of(call.apply(drivers.controller(turn++)));
        } catch (StatusRuntimeException e) {
          if (e.getStatus().getCode() == Code.NOT_FOUND) {
            return Optional.empty();
          }
          assertThat(e.getStatus().getCode())
              .as(e.getMessage())
              .isIn(Code.ABORTED, Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED);
          assertThat(System.nanoTime()).as(e.getMessage()).isLessThan(end);
          pause();
        }
      }
    }

    private static void pause() {
      java.util.concurrent.locks.LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
    }

    void act(int client, Step step) {
      switch (step.verb()) {
        case SNAPSHOT -> things.add(snapshot(client));
        case SHOW -> choose(step, false).ifPresent(thing -> show(client, thing));
        case SHOW_AGAIN -> choose(step, true).ifPresent(thing -> show(client, thing));
        case DELETE_SNAPSHOT -> choose(step, false).ifPresent(thing -> delete(client, thing));
        case DELETE_VOLUME -> choose(step, true).ifPresent(thing -> delete(client, thing));
      }
    }

    private Optional<Thing> choose(Step step, boolean volume) {
      List<Thing> live =
          things.stream().filter(t -> t.isVolume() == volume && !t.doomed().get()).toList();
      return live.isEmpty() ? Optional.empty() : Optional.of(live.get(step.choice() % live.size()));
    }

    private void show(int client, Thing from) {
      Optional<String> made = createVolume(client, Optional.of(from));
      if (made.isEmpty()) {
        assertThat(from.doomed()).as("source %s was not deleted", from).isTrue();
        return;
      }
      Thing thing = new Thing(made.get(), from.snapshot(), true, new AtomicBoolean());
      requireThere(thing);
      things.add(thing);
    }

    private void delete(int client, Thing thing) {
      if (thing.doomed().compareAndSet(false, true)) {
        assertThat(
                until(
                    client,
                    c ->
                        thing.isVolume()
                            ? c.deleteVolume(
                                DeleteVolumeRequest.newBuilder()
                                    .setVolumeId(thing.id())
                                    .putAllSecrets(SECRETS)
                                    .build())
                            : c.deleteSnapshot(
                                DeleteSnapshotRequest.newBuilder()
                                    .setSnapshotId(thing.id())
                                    .putAllSecrets(SECRETS)
                                    .build())))
            .isPresent();
      }
    }

    private void requireThere(Thing thing) {
      String subvolume = "csi-vol-" + uuid(source);
      assertThat(STATE.snapshots(subvolume))
          .as("what %s refers to", thing)
          .contains("csi-snap-" + uuid(thing.snapshot()));
    }

    private static String uuid(String id) {
      return id.substring(id.length() - 36);
    }

    void requireAllThere() {
      things.stream().filter(thing -> !thing.doomed().get()).forEach(this::requireThere);
    }

    void deleteAll() {
      things.forEach(thing -> delete(0, thing));
      Supplier<Optional<?>> last =
          () ->
              until(
                  0,
                  c ->
                      c.deleteVolume(
                          DeleteVolumeRequest.newBuilder()
                              .setVolumeId(source)
                              .putAllSecrets(SECRETS)
                              .build()));
      assertThat(last.get()).isPresent();
    }
  }

  /** Two processes of the real program, on a socket each. */
  private static final class Drivers implements AutoCloseable {
    private final Path folder;
    private final ServedProcess[] processes = new ServedProcess[2];
    private final ControllerBlockingStub[] controllers = new ControllerBlockingStub[2];

    Drivers() throws IOException {
      folder = Files.createTempDirectory("property");
      start(0);
      start(1);
      for (int i = 0; i < 2; i++) {
        processes[i].awaitServing(socket(i));
      }
    }

    private Path socket(int index) {
      return folder.resolve("csi-" + index + ".sock");
    }

    private synchronized void start(int index) throws IOException {
      processes[index] =
          ServedProcess.start(
              folder,
              "--type=cephfs",
              "--controllerserver",
              "--instanceid=" + INSTANCE,
              "--endpoint=unix://" + socket(index),
              "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder));
      controllers[index] = ControllerGrpc.newBlockingStub(processes[index].channel(socket(index)));
    }

    /** One of the two, for a client's turn. */
    synchronized ControllerBlockingStub controller(int turn) {
      return controllers[turn % 2].withDeadlineAfter(40, TimeUnit.SECONDS);
    }

    void killAndRestart(int index) throws IOException {
      processes[index].kill();
      processes[index].close();
      start(index);
    }

    @Override
    public void close() {
      for (ServedProcess process : processes) {
        process.close();
      }
    }
  }
}
