package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.grpc.Status.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What all volumes must do, on CephFS. */
class CephFsVolumeConformanceIT extends VolumeRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  @Test
  void thereIsNothingToReclaimOrGroup() {
    Volume volume = create();
    assertStatus(
        Code.UNIMPLEMENTED,
        () ->
            driver
                .reclaim()
                .controllerReclaimSpace(
                    ControllerReclaimSpaceRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "qos.iopsLimit is not known",
        () -> modify(volume.getVolumeId(), Map.of("qos.iopsLimit", "1")));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "cannot be grouped",
        () ->
            ControllerGrpc.newBlockingStub(driver.channel())
                .createVolumeGroup(
                    CreateVolumeGroupRequest.newBuilder()
                        .setName("group")
                        .addVolumeIds(volume.getVolumeId())
                        .build()));
    driver.delete(volume.getVolumeId());
  }

  private static void modify(String volumeId, Map<String, String> parameters) {
    assertThat(
            controller()
                .controllerModifyVolume(
                    ControllerModifyVolumeRequest.newBuilder()
                        .setVolumeId(volumeId)
                        .putMutableParameters("csi.storage.k8s.io/pvc/name", "claim")
                        .putAllMutableParameters(parameters)
                        .build()))
        .isNotNull();
  }

  /** What the metadata server says of a volume's directory, once it has written that down. */
  private static void assertPinned(Volume volume, int export, boolean distributed, int random) {
    String path =
        String.valueOf(Path.of(volume.getVolumeContextMap().get("subvolumePath")).getParent());
    String server = "mds." + CLUSTER.fileSystem() + ":0";
    Awaitility.await()
        .untilAsserted(
            () -> {
              JsonNode tree =
                  new ObjectMapper()
                      .readTree(CLUSTER.ceph("tell", server, "dump", "tree", path, "0"));
              JsonNode top = tree.get(0);
              assertThat(top.get("export_pin").asInt()).isEqualTo(export);
              assertThat(top.get("export_ephemeral_distributed_pin").asBoolean())
                  .isEqualTo(distributed);
              assertThat(top.get("export_ephemeral_random_pin").asInt()).isEqualTo(random);
            });
  }

  @Test
  void aVolumeIsPinnedToMetadataServersInOneWayAtATime() {
    Volume volume =
        driver.create(
            driver.createRequest(newName(), MIB).putMutableParameters("mds-pin-export", "1"));
    String id = volume.getVolumeId();
    modify(id, Map.of());
    assertPinned(volume, 1, false, 0);
    for (int i = 0; i < 2; i++) {
      modify(id, Map.of("mds-pin-distributed", "1"));
      assertPinned(volume, -1, true, 0);
    }
    Map<String, String> always = Map.of("mds-pin-random", "1.0");
    assertStatus(
        Code.FAILED_PRECONDITION, "mds_export_ephemeral_random_max", () -> modify(id, always));
    assertPinned(volume, -1, true, 0);
    CLUSTER.ceph("config", "set", "mds", "mds_export_ephemeral_random_max", "1.0");
    Awaitility.await().ignoreExceptions().untilAsserted(() -> modify(id, always));
    assertPinned(volume, -1, false, 1);
    CLUSTER.ceph("config", "rm", "mds", "mds_export_ephemeral_random_max");
    modify(id, Map.of("mds-pin-export", "-1"));
    assertPinned(volume, -1, false, 0);
    driver.delete(id);
    assertStatus(Code.NOT_FOUND, () -> modify(id, Map.of("mds-pin-export", "-1")));
  }

  /** What there is of volumes: names, journal entries, subvolumes, and what is listed. */
  private static List<String> everything() {
    Omaps journal = kind.journal(CLUSTER);
    List<String> all = new ArrayList<>(journal.of("csi.volumes." + driver.instanceId()).keySet());
    journal.objects().stream().filter(name -> name.startsWith("csi.volume.")).forEach(all::add);
    all.add(CLUSTER.ceph("fs", "subvolume", "ls", CLUSTER.fileSystem(), "csi"));
    controller()
        .listVolumes(ListVolumesRequest.getDefaultInstance())
        .getEntriesList()
        .forEach(entry -> all.add(entry.getVolume().getVolumeId()));
    return all;
  }

  private static CreateVolumeRequest.Builder pinned(String name, String random) {
    return driver.createRequest(name, SIZE).putMutableParameters("mds-pin-random", random);
  }

  private static void assertPinRefused(CreateVolumeRequest request) {
    assertStatus(
        Code.FAILED_PRECONDITION,
        "mds_export_ephemeral_random_max",
        () -> controller().createVolume(request));
  }

  private static String entry(Volume volume) {
    return JournalKind.VOLUME.object(VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid());
  }

  @Test
  void nothingIsLeftOfAVolumeWhosePinIsRefused() {
    Volume source = create();
    List<String> before = everything();
    assertPinRefused(pinned(newName(), "0.5").build());
    assertThat(everything()).isEqualTo(before);
    CreateVolumeRequest copy = copy(newName(), "0.5", source);
    for (int i = 0; i < 2; i++) { // at once: it is not copied before, and again for each retry
      assertPinRefused(copy);
      assertThat(everything()).isEqualTo(before);
    }
    CreateVolumeRequest possible = copy(copy.getName(), "0.005", source);
    Volume copied =
        untilNotAborted(
            Duration.ofMinutes(1), () -> controller().createVolume(possible).getVolume());
    driver.delete(copied.getVolumeId());
    assertThat(everything()).isEqualTo(before);
    driver.delete(source.getVolumeId());
  }

  private CreateVolumeRequest copy(String name, String pin, Volume source) {
    return pinned(name, pin)
        .setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setVolume(
                    VolumeContentSource.VolumeSource.newBuilder()
                        .setVolumeId(source.getVolumeId())))
        .build();
  }

  @Test
  void aVolumeThatWasThereBeforeItsPinWasRefusedStays() {
    String name = newName();
    Volume volume = driver.create(name, SIZE);
    List<String> before = everything();
    assertPinRefused(pinned(name, "0.5").build());
    assertThat(everything()).isEqualTo(before);
    Volume pinned = driver.create(pinned(name, "0.005"));
    assertThat(pinned).isEqualTo(volume);
    assertPinRefused(pinned(name, "0.5").build());
    assertThat(everything()).isEqualTo(before);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aDriverThatDiedBeforeItPinnedAVolumeGaveItToNobody() {
    Volume other = create();
    List<String> before = everything();
    Omaps journal = kind.journal(CLUSTER);
    String name = newName();
    Volume unpinned = driver.create(pinned(name, "0.005"));
    assertThat(journal.of(entry(unpinned))).doesNotContainKey("csi.java.unpinned");
    journal.set(entry(unpinned), "csi.java.unpinned", "1");
    assertPinRefused(pinned(name, "0.5").build());
    assertThat(everything()).isEqualTo(before);

    Volume given = driver.create(name, SIZE);
    journal.set(entry(given), "csi.java.unpinned", "1");
    assertThat(driver.create(name, SIZE)).isEqualTo(given); // now somebody has it
    assertPinRefused(pinned(name, "0.5").build());
    assertThat(journal.of(entry(given))).doesNotContainKey("csi.java.unpinned");
    driver.delete(given.getVolumeId());
    driver.delete(other.getVolumeId());
  }

  @Test
  void flagsOfEitherMounterAreAllowed() {
    for (String flag : List.of("rasize=4096", "big_writes")) {
      VolumeCapability use =
          TestDriver.singleWriter().toBuilder()
              .setMount(VolumeCapability.MountVolume.newBuilder().addMountFlags(flag))
              .build();
      driver.delete(
          driver
              .create(driver.createRequest(newName(), SIZE).setVolumeCapabilities(0, use))
              .getVolumeId());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "mds-pin-export, -2",
    "mds-pin-export, 256",
    "mds-pin-export, 01",
    "mds-pin-export, ''",
    "mds-pin-distributed, true",
    "mds-pin-random, 1.1",
    "mds-pin-random, -0.1",
    "mds-pin-random, NaN",
    "mds-pin-random, 1e-3",
    "mds-pin-export-, 1"
  })
  void pinsThatCannotBeMeantAreRefused(String key, String value) {
    assertStatus(Code.INVALID_ARGUMENT, key, () -> modify(NOBODY, Map.of(key, value)));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "at a time",
        () -> modify(NOBODY, Map.of("mds-pin-export", "1", "mds-pin-distributed", "1")));
  }

  @Test
  void blockVolumesAndPlacesThatAreNotThereAreInvalid() {
    assertStatus(
        Code.INVALID_ARGUMENT,
        "block",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .addVolumeCapabilities(Kind.CEPHFS.unsupported())
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "no-such-fs",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .putParameters("fsName", "no-such-fs")
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "is no data pool",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .putParameters("pool", "no-such-pool")
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "fsName",
        () ->
            controller()
                .createVolume(
                    driver.createRequest(newName(), MIB).removeParameters("fsName").build()));
  }

  @Test
  void theAdminsSecretsAreTakenToo() {
    Map<String, String> secrets =
        Map.of(
            "adminID", driver.secrets().get("userID"), "adminKey", driver.secrets().get("userKey"));
    Volume volume =
        controller()
            .createVolume(
                driver.createRequest(newName(), MIB).clearSecrets().putAllSecrets(secrets).build())
            .getVolume();
    driver.delete(volume.getVolumeId());
  }
}
