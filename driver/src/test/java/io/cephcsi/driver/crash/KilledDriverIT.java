package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A driver is killed, and another process is started in its place: what the first had open holds
 * nobody up. A driver that lives, also one that is stopped, is left alone.
 */
class KilledDriverIT {
  private static final long MIB = 1L << 20;
  private static final int KILLS = 60;

  /** The cluster itself needs 30 s to give up a watcher, and 60 s for a session. */
  private static final Duration SOON = Duration.ofSeconds(20);

  private static final TestCluster CEPH = TestCluster.shared();
  private static final RadosCluster ADMIN = CEPH.connect();
  private static final IoContext IO = ADMIN.openPool(CEPH.pool());
  private static final RbdPool POOL = new RbdPool(IO);
  private static final ExecutorService CALLS = Executors.newCachedThreadPool();

  @RegisterExtension static final TestDriver RBD = TestDriver.rbd(CEPH).start();
  @RegisterExtension static final TestDriver FILES = TestDriver.cephFs(CEPH).start();

  @AfterAll
  static void close() {
    CALLS.shutdownNow();
    IO.close();
    ADMIN.close();
  }

  private static DriverSeat seat(DriverConfig.Type type, String user) {
    return new DriverSeat(type, CEPH, user, List.of());
  }

  private static String imageId(Volume volume) {
    return ImageId.find(POOL, TestDriver.image(volume)).orElseThrow();
  }

  private static CreateSnapshotRequest snapshot(Map<String, String> secrets, Volume volume) {
    return CreateSnapshotRequest.newBuilder()
        .setName("snap-" + UUID.randomUUID())
        .setSourceVolumeId(volume.getVolumeId())
        .putAllSecrets(secrets)
        .build();
  }

  private static void delete(
      ControllerBlockingStub controller, Map<String, String> secrets, Volume volume) {
    assertThat(
            controller.deleteVolume(
                DeleteVolumeRequest.newBuilder()
                    .setVolumeId(volume.getVolumeId())
                    .putAllSecrets(secrets)
                    .build()))
        .isNotNull();
  }

  private static boolean isBlocklisted(String address) {
    String bare = address.replaceFirst("^v[12]:", "");
    return CEPH.ceph("osd", "blocklist", "ls", "--format", "json").contains("\"" + bare + "\"");
  }

  /**
   * Takes snapshots of a volume until the image is open, and kills the driver then.
   *
   * @return the request under way, and the address of the watcher
   */
  private static Map.Entry<CreateSnapshotRequest, String> killWhileOpen(
      DriverSeat seat, Volume volume, Map<String, String> secrets) {
    String id = imageId(volume);
    for (int i = 0; i < KILLS; i++) {
      try (ServedProcess process = seat.start()) {
        ControllerBlockingStub controller = seat.controller(process);
        for (int call = 0; call < KILLS; call++) {
          CreateSnapshotRequest request = snapshot(secrets, volume);
          Future<?> running = CALLS.submit(() -> controller.createSnapshot(request));
          while (!running.isDone()) {
            if (HeaderNotification.isWatched(POOL, id)) {
              process.kill();
              Optional<String> watcher = watcher(volume);
              if (watcher.isPresent()) {
                return Map.entry(request, watcher.get());
              }
              break;
            }
          }
          if (!process.isAlive()) {
            break;
          }
          controller.deleteSnapshot(
              DeleteSnapshotRequest.newBuilder()
                  .setSnapshotId(controller.createSnapshot(request).getSnapshot().getSnapshotId())
                  .putAllSecrets(secrets)
                  .build());
        }
      }
    }
    throw new IllegalStateException("the driver never had the image open when it was killed");
  }

  private static Optional<String> watcher(Volume volume) {
    try (RbdImage image = POOL.openReadOnly(TestDriver.image(volume))) {
      return image.watchers().stream().map(watcher -> watcher.address()).findFirst();
    }
  }

  private static void removeSnapshots(
      ControllerBlockingStub controller, CreateSnapshotRequest request) {
    controller.deleteSnapshot(
        DeleteSnapshotRequest.newBuilder()
            .setSnapshotId(controller.createSnapshot(request).getSnapshot().getSnapshotId())
            .putAllSecrets(request.getSecretsMap())
            .build());
  }

  @Test
  void anImageThatAKilledDriverHadOpenIsDeletedAtOnce() throws IOException {
    Volume volume = RBD.create("killed-" + UUID.randomUUID(), 16 * MIB);
    DriverSeat seat = seat(DriverConfig.Type.RBD, CEPH.rbdUser());
    var open = killWhileOpen(seat, volume, RBD.secrets());
    try (ServedProcess next = seat.start()) {
      ControllerBlockingStub controller = seat.controller(next);
      long ready = System.nanoTime();
      removeSnapshots(controller, open.getKey());
      delete(controller, RBD.secrets(), volume);
      assertThat(Duration.ofNanos(System.nanoTime() - ready)).isLessThan(SOON);
      assertThat(isBlocklisted(open.getValue())).isTrue();
      assertThat(next.output()).contains("ended client ");
      Awaitility.await("it is forgotten")
          .until(
              () ->
                  !Files.readString(seat.clientsFile())
                      .contains(URLEncoder.encode(open.getValue(), UTF_8)));
    }
  }

  @Test
  void withoutTheRightToBlocklistAKilledDriversImageIsInUseAsBefore() throws IOException {
    CEPH.ceph(
        "auth",
        "get-or-create",
        "client.csi-no-blocklist",
        "mon",
        "allow r",
        "osd",
        "profile rbd",
        "-o",
        CEPH.conf().resolveSibling("client.csi-no-blocklist.keyring").toString());
    Map<String, String> secrets =
        Map.of("userID", "csi-no-blocklist", "userKey", CEPH.key("csi-no-blocklist"));
    Volume volume = RBD.create("killed-" + UUID.randomUUID(), 16 * MIB);
    Volume other = RBD.create("killed-" + UUID.randomUUID(), 16 * MIB);
    DriverSeat seat = seat(DriverConfig.Type.RBD, "csi-no-blocklist");
    var open = killWhileOpen(seat, volume, secrets);
    try (ServedProcess next = seat.start()) {
      ControllerBlockingStub controller = seat.controller(next);
      delete(controller, secrets, other);
      assertStatus(
          Code.FAILED_PRECONDITION, "is in use", () -> delete(controller, secrets, volume));
      Awaitility.await().until(() -> next.output().contains("cannot be ended"));
      assertThat(isBlocklisted(open.getValue())).isFalse();
      ADMIN.blocklist(open.getValue(), Duration.ofMinutes(5)); // instead of 30 s
      removeSnapshots(controller, open.getKey());
      delete(controller, secrets, volume);
    }
  }

  @Test
  void subvolumesThatAKilledDriverLookedAtAreDeletedAtOnce() throws IOException {
    Volume volume = FILES.create("killed-" + UUID.randomUUID(), 16 * MIB);
    Volume other = FILES.create("killed-" + UUID.randomUUID(), 16 * MIB);
    DriverSeat seat = seat(DriverConfig.Type.CEPHFS, CEPH.cephFsUser());
    CreateSnapshotRequest request = snapshot(FILES.secrets(), volume);
    try (ServedProcess process = seat.start()) {
      ControllerBlockingStub controller = seat.controller(process);
      // One that another driver took has to be looked for.
      assertThat(FILES.controller().createSnapshot(request))
          .isEqualTo(controller.createSnapshot(request));
      assertThat(Files.readString(seat.clientsFile())).contains("SESSION ");
      process.kill();
    }
    try (ServedProcess next = seat.start()) {
      ControllerBlockingStub controller = seat.controller(next);
      long ready = System.nanoTime();
      delete(controller, FILES.secrets(), other);
      removeSnapshots(controller, request);
      delete(controller, FILES.secrets(), volume);
      assertThat(Duration.ofNanos(System.nanoTime() - ready)).isLessThan(SOON);
      Awaitility.await().until(() -> next.output().contains("ended session "));
    }
  }

  @Test
  void aStoppedDriverIsNotFencedByAnotherOfItsNameAndGoesOn() throws Exception {
    Volume volume = RBD.create("stopped-" + UUID.randomUUID(), 16 * MIB);
    DriverSeat seat = seat(DriverConfig.Type.RBD, CEPH.rbdUser());
    try (ServedProcess first = seat.start()) {
      ControllerBlockingStub controller = seat.controller(first);
      removeSnapshots(controller, snapshot(RBD.secrets(), volume)); // it is connected
      String clients = Files.readString(seat.clientsFile());
      String address = URLDecoder.decode(clients.split("[ \n]", -1)[7], UTF_8);
      signal("-STOP", first);
      CreateSnapshotRequest request = snapshot(RBD.secrets(), volume);
      Future<?> waiting = CALLS.submit(() -> controller.createSnapshot(request));
      try (ServedProcess same = seat.start()) {
        assertThat(same.awaitExit(Duration.ofSeconds(60))).isNotZero(); // its socket is served
        assertThat(same.output()).contains("another process");
      }
      DriverSeat elsewhere = seat(DriverConfig.Type.RBD, CEPH.rbdUser());
      try (ServedProcess second = elsewhere.start()) {
        removeSnapshots(elsewhere.controller(second), snapshot(RBD.secrets(), volume));
      }
      assertThat(isBlocklisted(address)).as(address).isFalse();
      assertThat(clients).contains("ADDRESS");
      signal("-CONT", first);
      waiting.get(60, TimeUnit.SECONDS);
      removeSnapshots(controller, request);
      delete(controller, RBD.secrets(), volume);
      assertThat(Files.readString(seat.clientsFile())).isEqualTo(clients);
    } catch (StatusRuntimeException e) {
      throw new AssertionError("a driver was held up", e);
    }
  }

  private static void signal(String name, ServedProcess process) throws Exception {
    assertThat(new ProcessBuilder("kill", name, Long.toString(process.pid())).start().waitFor())
        .isZero();
  }
}
