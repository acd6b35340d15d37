package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.testing.RawObjects;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCondition;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The rules of lists, and what only RBD has. */
class RbdListConformanceIT extends ListRules {
  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  @Nested
  class ListVolumesOfPools {
    @Test
    void volumesInOtherPoolsAndNamespacesAreListedToo() {
      made.add(
          controller()
              .createVolume(
                  driver
                      .createRequest(newName(), MIB)
                      .putParameters("pool", CLUSTER.otherPool())
                      .build())
              .getVolume());
      make();
      TestDriver.makeNamespace(CLUSTER);
      made.add(
          controller()
              .createVolume(
                  driver
                      .createRequest(newName(), MIB)
                      .putParameters("clusterID", TestDriver.IN_NAMESPACE)
                      .build())
              .getVolume());
      List<String> expected = made.stream().map(Volume::getVolumeId).toList();
      assertThat(ids(list(0, ""))).containsExactlyInAnyOrderElementsOf(expected);
      List<String> all = new ArrayList<>();
      String token = "";
      do {
        ListVolumesResponse page = list(1, token);
        all.addAll(ids(page));
        token = page.getNextToken();
      } while (!token.isEmpty());
      assertThat(all).hasSize(3).containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void halfDeletedVolumesAreLeftOut() {
      Volume volume = make();
      Volume marked = make();
      Volume other = make();
      CLUSTER.rbd("trash", "mv", "rbd/" + TestDriver.image(volume));
      String mark = "2026-01-01T00:00:00Z x";
      CLUSTER.rados("-p", "rbd", "setomapval", object(marked), "csi.java.deleting", mark);
      assertThat(ids(list(0, ""))).containsExactly(other.getVolumeId());
    }

    @Test
    void aSnapshotWhoseImageWasReplacedIsListed() {
      Snapshot snapshot = take(make());
      String image = "rbd/" + TestDriver.image(snapshot);
      CLUSTER.rbd("flatten", "--no-progress", image); // else it cannot be copied by Ceph 16
      CLUSTER.rbd("mv", image, image + "-old");
      CLUSTER.rbd("deep", "cp", "--no-progress", image + "-old", image);
      CLUSTER.rbd("snap", "purge", "--no-progress", image + "-old");
      CLUSTER.rbd("rm", "--no-progress", image + "-old");
      assertThat(ids(controller().listSnapshots(snapshots(0, "").build())))
          .containsExactly(snapshot.getSnapshotId());
    }

    /** Who may write to one pool can have a name there lead to any other. */
    @Test
    void aNameThatLeadsToAPoolForOthersHidesNothingElse() throws IOException {
      Volume own = make();
      made.add(
          controller()
              .createVolume(
                  driver
                      .createRequest(newName(), MIB)
                      .putParameters("pool", CLUSTER.otherPool())
                      .putParameters("journalPool", CLUSTER.pool())
                      .build())
              .getVolume());
      assertThat(ids(list(0, ""))).hasSize(2);
      String user = "one-pool-" + UUID.randomUUID();
      String keyring =
          CLUSTER.ceph(
              "auth",
              "get-or-create",
              "client." + user,
              "mon",
              "profile rbd",
              "osd",
              "profile rbd pool=" + CLUSTER.pool());
      Files.writeString(CLUSTER.conf().resolveSibling("client." + user + ".keyring"), keyring);
      try (TestDriver restricted =
          TestDriver.rbd(CLUSTER).instance(driver.instanceId()).credentialsOf(user).start()) {
        assertThat(
                ids(restricted.controller().listVolumes(ListVolumesRequest.getDefaultInstance())))
            .containsExactly(own.getVolumeId());
      }
      CLUSTER.ceph("auth", "rm", "client." + user);
    }

    private static String object(Volume volume) {
      return JournalKind.VOLUME.object(VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid());
    }

    @Test
    void whatAnAttemptHasNotRecordedIsLeftOutUnlessAnotherProgramMadeIt() {
      Volume given = make();
      Volume others = make();
      CLUSTER.rados("-p", "rbd", "rmomapkey", object(others), "csi.imageid");
      try (var cluster = CLUSTER.connect();
          var io = cluster.openPool("rbd")) {
        Journal journal = new Journal(JournalKind.VOLUME, driver.instanceId(), io, io);
        Attempt attempt = journal.begin(newName(), uuid -> "csi-vol-" + uuid, Map.of());
        String image = "rbd/" + attempt.entry().name();
        CLUSTER.rbd("create", image, "--size", "8M");
        assertThat(ids(list(0, "")))
            .containsExactlyInAnyOrder(given.getVolumeId(), others.getVolumeId());
        String maker = "others-" + UUID.randomUUID(); // an attempt has taken it over
        CLUSTER.rados("-p", "rbd", "setomapval", object(others), "csi.java.maker", maker);
        assertThat(ids(list(0, "")))
            .containsExactlyInAnyOrder(given.getVolumeId(), others.getVolumeId());
        attempt.undo(() -> CLUSTER.rbd("rm", "--no-progress", image));
      }
    }
  }

  @Nested
  class GetBrokenVolume {
    private static ControllerGetVolumeResponse get(String id) {
      return ControllerGetVolume.get(id);
    }

    @Test
    void aVolumeWhoseImageIsInTheTrashOrHasABadObjectMapIsAbnormal() {
      Volume volume = make();
      String image = TestDriver.image(volume);
      String imageId = CLUSTER.rbd("info", "rbd/" + image, "--format", "json");
      imageId = imageId.replaceAll("(?s).*\"id\":\"([0-9a-f]+)\".*", "$1");
      CLUSTER.rados("-p", "rbd", "rm", "rbd_object_map." + imageId);
      try (var cluster = CLUSTER.connect();
          var io = cluster.openPool("rbd");
          var open = new io.cephcsi.bindings.rbd.RbdPool(io).open(image)) {
        open.write(0, new byte[] {1}); // whoever misses the object map says so in the header
      }
      var condition = get(volume.getVolumeId()).getStatus().getVolumeCondition();
      assertThat(condition.getAbnormal()).isTrue();
      assertThat(condition.getMessage()).contains("object map");

      CLUSTER.rbd("trash", "mv", "rbd/" + image);
      condition = get(volume.getVolumeId()).getStatus().getVolumeCondition();
      assertThat(condition.getAbnormal()).isTrue();
      assertThat(condition.getMessage()).contains("trash");
    }
  }

  @Nested
  class GetVolumeThatCannotBeOpened {
    @Test
    void itIsAbnormalAndTheMessageSaysWhy() {
      Volume volume = make();
      try (var cluster = CLUSTER.connect();
          var io = cluster.openPool("rbd")) {
        String id = ImageId.find(new RbdPool(io), TestDriver.image(volume)).orElseThrow();
        String header = "rbd_header." + id;
        RawObjects objects = new RawObjects(CLUSTER, io);
        RawObject saved = objects.get(header).orElseThrow();
        ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
        headers.parent(id, new ImageLink(99_999, "", "1234"), 4, MIB); // in no pool
        assertAbnormal(volume, "a clone of is gone");
        objects.put(header, saved);
        headers.data(id, io.poolId(), "rbd_data.of-another");
        assertAbnormal(volume, "EBADMSG");
        objects.put(header, saved);
      }
      assertThat(condition(volume).getAbnormal()).isFalse();
    }

    private static VolumeCondition condition(Volume volume) {
      return ControllerGetVolume.get(volume.getVolumeId()).getStatus().getVolumeCondition();
    }

    private static void assertAbnormal(Volume volume, String message) {
      assertThat(condition(volume).getAbnormal()).isTrue();
      assertThat(condition(volume).getMessage()).contains(message);
    }
  }

  @Nested
  class GetCapacityOfAPool {
    private final GetCapacityRequest.Builder request =
        GetCapacityRequest.newBuilder().putAllParameters(driver.parameters());

    @Test
    void aQuotaLimitsRoomAndSize() {
      CLUSTER.ceph("osd", "pool", "set-quota", CLUSTER.otherPool(), "max_bytes", "1000000");
      try {
        var answer =
            controller().getCapacity(request.putParameters("pool", CLUSTER.otherPool()).build());
        assertThat(answer.getAvailableCapacity()).isBetween(0L, 1000000L);
        assertThat(answer.getMaximumVolumeSize().getValue()).isEqualTo(1000000);
        assertThat(answer.getMinimumVolumeSize().getValue()).isEqualTo(4096);
      } finally {
        CLUSTER.ceph("osd", "pool", "set-quota", CLUSTER.otherPool(), "max_bytes", "0");
      }
    }
  }

  @Nested
  class TopologyConstrainedPools {
    private static Topology zone(String value) {
      return Topology.newBuilder()
          .putSegments("topology.rbd.csi.ceph.com/zone", value)
          .putSegments("kubernetes.io/hostname", "node-1")
          .build();
    }

    private CreateVolumeRequest.Builder request(String name) {
      return driver
          .createRequest(name, MIB)
          .putParameters(
              "topologyConstrainedPools",
              """
              [{"poolName": "%s", "domainSegments": [{"domainLabel": "zone", "value": "a"}]},
               {"poolName": "%s", "domainSegments": [{"domainLabel": "zone", "value": "b"}]}]
              """
                  .formatted(CLUSTER.pool(), CLUSTER.otherPool()));
    }

    private Volume make(String name, String... preferred) {
      var requirement =
          TopologyRequirement.newBuilder().addRequisite(zone("a")).addRequisite(zone("b"));
      for (String value : preferred) {
        requirement.addPreferred(zone(value));
      }
      return controller()
          .createVolume(request(name).setAccessibilityRequirements(requirement).build())
          .getVolume();
    }

    @Test
    void aNameThatAttemptsLeftInAPoolThatIsNoLongerAllowedIsFree() {
      String name = newName();
      Volume left = make(name, "b");
      String uuid = VolumeId.parse(left.getVolumeId()).orElseThrow().uuid().toString();
      CreateVolumeRequest onlyInA =
          request(name)
              .setAccessibilityRequirements(
                  TopologyRequirement.newBuilder().addRequisite(zone("a")))
              .build();
      assertStatus(Code.ALREADY_EXISTS, () -> controller().createVolume(onlyInA));

      String object = "csi.volume." + uuid;
      CLUSTER.rados("-p", CLUSTER.otherPool(), "rmomapkey", object, "csi.imageid");
      for (int i = 0; i < 2; i++) { // also when an attempt has taken it over
        assertStatus(Code.ALREADY_EXISTS, () -> controller().createVolume(onlyInA));
        assertThat(CLUSTER.rbd("ls", CLUSTER.otherPool())).contains(uuid);
      }
      CLUSTER.rados(
          "-p", CLUSTER.otherPool(), "setomapval", object, "csi.java.maker", "an attempt of ours");
      Volume volume = controller().createVolume(onlyInA).getVolume();
      made.add(volume);
      assertThat(volume.getVolumeContextMap()).containsEntry("pool", CLUSTER.pool());
      assertThat(CLUSTER.rbd("ls", CLUSTER.otherPool())).doesNotContain(uuid);
      assertThat(CLUSTER.rados("-p", CLUSTER.otherPool(), "ls")).doesNotContain(object);
      driver.delete(volume.getVolumeId());
    }

    /** Who may write to the pool of the journal may have no right to the other. */
    @Test
    void aKeyAloneProvesNothingOfAnImageInAnotherPool() {
      String name = newName();
      String uuid = UUID.randomUUID().toString();
      String image = CLUSTER.otherPool() + "/csi-vol-" + uuid;
      CLUSTER.rbd("create", image, "--size", "8M");
      Volume there = make(newName(), "b");
      made.add(there);
      long pool = VolumeId.parse(there.getVolumeId()).orElseThrow().location();
      PoolState other = new PoolState(CLUSTER, CLUSTER.otherPool());
      Set<String> before = other.everything();
      CLUSTER.rados(
          "-p",
          CLUSTER.pool(),
          "setomapval",
          "csi.volumes." + driver.instanceId(),
          "csi.volume." + name,
          "%016x/%s".formatted(pool, uuid));
      Volume volume =
          controller()
              .createVolume(
                  request(name)
                      .setAccessibilityRequirements(
                          TopologyRequirement.newBuilder().addRequisite(zone("a")))
                      .build())
              .getVolume();
      made.add(volume);
      assertThat(volume.getVolumeContextMap()).containsEntry("pool", CLUSTER.pool());
      assertThat(volume.getVolumeId()).doesNotContain(uuid);
      assertThat(other.everything()).isEqualTo(before);
      CLUSTER.rbd("rm", image);
    }

    @Test
    void thePreferredPoolGetsTheImageAndARetryKeepsIt() {
      String name = newName();
      Volume volume = make(name, "b", "a");
      made.add(volume);
      assertThat(volume.getAccessibleTopologyList())
          .containsExactly(
              Topology.newBuilder().putSegments("topology.rbd.csi.ceph.com/zone", "b").build());
      assertThat(volume.getVolumeContextMap())
          .containsEntry("pool", CLUSTER.otherPool())
          .containsEntry("journalPool", CLUSTER.pool());
      assertThat(CLUSTER.rbd("ls", CLUSTER.otherPool())).contains(TestDriver.image(volume));
      assertThat(make(name, "a")).isEqualTo(volume);
      assertThat(ids(list(0, ""))).containsExactly(volume.getVolumeId());
      assertThat(VolumeId.parse(volume.getVolumeId()).orElseThrow().location()).isNotEqualTo(1);

      driver.delete(volume.getVolumeId());
      assertThat(
              CLUSTER.rados(
                  "-p", CLUSTER.pool(), "listomapkeys", "csi.volumes." + driver.instanceId()))
          .doesNotContain(name);
    }

    private Volume makeWithoutPool(String name, String... preferred) {
      var requirement = TopologyRequirement.newBuilder();
      for (String value : preferred) {
        requirement.addPreferred(zone(value));
      }
      return controller()
          .createVolume(
              request(name)
                  .removeParameters("pool")
                  .setAccessibilityRequirements(requirement)
                  .build())
          .getVolume();
    }

    @Test
    void aClassWithoutPoolHasOneVolumeForAName() {
      for (List<String> first : List.of(List.of("b", "a"), List.of("a", "b"))) {
        String name = newName();
        Volume volume = makeWithoutPool(name, first.get(0), first.get(1));
        made.add(volume);
        assertThat(volume.getVolumeContextMap())
            .containsEntry("pool", first.get(0).equals("a") ? CLUSTER.pool() : CLUSTER.otherPool())
            .containsEntry("journalPool", CLUSTER.pool());
        assertThat(makeWithoutPool(name, first.get(1), first.get(0))).isEqualTo(volume);
        assertThat(makeWithoutPool(name, first.get(0))).isEqualTo(volume);
        assertThat(ids(list(0, ""))).hasSize(made.size());
      }
      assertStatus(
          Code.INVALID_ARGUMENT,
          "pool is required",
          () -> controller().createVolume(request(newName()).removeParameters("pool").build()));
    }

    /** As ceph-csi does where topology chose that pool: with the name in it, too. */
    private Volume makeInOtherPool(String name) {
      Volume volume =
          driver.create(driver.createRequest(name, MIB).putParameters("pool", CLUSTER.otherPool()));
      made.add(volume);
      return volume;
    }

    /** ceph-csi reserves the name in the pool that it chose. */
    @Test
    void aVolumeOfCephCsiOfAClassWithoutPoolIsFoundByItsName() {
      String name = newName();
      Volume volume = makeInOtherPool(name);
      for (Volume found : List.of(makeWithoutPool(name, "a", "b"), makeWithoutPool(name, "b"))) {
        assertThat(found.getVolumeId()).isEqualTo(volume.getVolumeId());
        assertThat(found.getVolumeContextMap())
            .containsEntry("pool", CLUSTER.otherPool())
            .containsEntry("journalPool", CLUSTER.otherPool());
      }
      assertThat(ids(list(0, ""))).containsExactly(volume.getVolumeId());
    }

    /** As ceph-csi from 3.11 on does, whether the class has a pool or not. */
    @Test
    void aVolumeOfCephCsiOfAClassWithAPoolIsFoundByItsName() {
      String name = newName();
      Volume volume = makeInOtherPool(name);
      var onlyInB =
          request(name)
              .setAccessibilityRequirements(
                  TopologyRequirement.newBuilder().addRequisite(zone("b")));
      for (Volume found :
          List.of(make(name, "a"), controller().createVolume(onlyInB.build()).getVolume())) {
        assertThat(found.getVolumeId()).isEqualTo(volume.getVolumeId());
      }
      assertThat(ids(list(0, ""))).containsExactly(volume.getVolumeId());
    }

    @Test
    void aPoolThatIsNotThereKeepsNoVolumeFromAnother() {
      CreateVolumeRequest.Builder request = request(newName());
      String pools = request.getParametersOrThrow("topologyConstrainedPools");
      String gone =
          "[{\"poolName\": \"gone\", \"domainSegments\":"
              + " [{\"domainLabel\": \"zone\", \"value\": \"c\"}]},";
      request.putParameters("topologyConstrainedPools", pools.strip().replaceFirst("\\[", gone));
      var places = TopologyRequirement.newBuilder().addPreferred(zone("a")).addPreferred(zone("c"));
      Volume volume = driver.create(request.setAccessibilityRequirements(places));
      made.add(volume);
      assertThat(volume.getVolumeContextMap()).containsEntry("pool", CLUSTER.pool());
    }

    @Test
    void aVolumeIsConfirmedWithTheParametersOfItsClass() {
      Volume volume = makeWithoutPool(newName(), "b");
      made.add(volume);
      for (var creation : List.of(request("n"), request("n").removeParameters("pool"))) {
        var confirmed =
            controller()
                .validateVolumeCapabilities(
                    ValidateVolumeCapabilitiesRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .addVolumeCapabilities(TestDriver.singleWriter())
                        .putAllParameters(creation.getParametersMap())
                        .putAllSecrets(driver.secrets())
                        .build());
        assertThat(confirmed.getMessage()).isEmpty();
        assertThat(confirmed.hasConfirmed()).isTrue();
      }
    }

    @Test
    void aPlaceThatNoPoolServesIsResourceExhausted() {
      assertStatus(
          Code.RESOURCE_EXHAUSTED,
          () ->
              controller()
                  .createVolume(
                      request(newName())
                          .setAccessibilityRequirements(
                              TopologyRequirement.newBuilder().addRequisite(zone("c")))
                          .build()));
    }

    @Test
    void capacityOfAClassWithoutPoolIsThatOfThePlace() {
      var capacity =
          GetCapacityRequest.newBuilder()
              .putAllParameters(request("n").removeParameters("pool").getParametersMap());
      assertThat(
              controller()
                  .getCapacity(capacity.setAccessibleTopology(zone("b")).build())
                  .getAvailableCapacity())
          .isPositive();
    }

    @Test
    void capacityIsThatOfThePlace() {
      var capacity =
          GetCapacityRequest.newBuilder().putAllParameters(request("n").getParametersMap());
      assertThat(
              controller()
                  .getCapacity(capacity.setAccessibleTopology(zone("b")).build())
                  .getAvailableCapacity())
          .isPositive();
      assertThat(
              controller()
                  .getCapacity(capacity.setAccessibleTopology(zone("c")).build())
                  .getAvailableCapacity())
          .isZero();
    }
  }
}
