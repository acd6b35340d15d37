package io.cephcsi.driver.cli;

import static io.cephcsi.driver.cli.SeveralIds.found;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * clusterIDs of one cluster that differ in the RADOS namespace alone share a group of subvolumes:
 * what the journal of the one claims is no leftover for {@code ceph-csi fsck} of the other, and
 * what it has is not lost.
 */
class TwoJournalsIT {
  private static final TestCluster CEPH = TestCluster.shared();

  @TempDir private Path folder;
  private final String id = UUID.randomUUID().toString();
  private final String group = "g-" + id;
  private final String userOfX = "journal-x-" + id;
  private SeveralIds ids = new SeveralIds(CEPH, Path.of(""), List.of());

  @BeforeEach
  void makeGroup() {
    CEPH.ceph("fs", "subvolumegroup", "create", "cephfs", group);
    ids =
        new SeveralIds(
            CEPH,
            folder,
            Stream.of("x", "y")
                .map(clusterId -> new SeveralIds.Id(clusterId, clusterId + "-" + id, group))
                .toList());
  }

  /** A user who may read the journal of x only. */
  private void makeUserOfX() {
    CephUsers.makeCephFs(
        CEPH,
        userOfX,
        "allow rw pool=cephfs.metadata namespace=x-" + id + ", allow rw tag cephfs data=*",
        "allow rw path=/volumes");
  }

  private Volume create(TestDriver driver, String clusterId) {
    return driver.create(
        driver
            .createRequest("pvc-" + clusterId + "-" + id, 8L << 20)
            .putParameters("clusterID", clusterId));
  }

  private String snapshot(TestDriver driver, Volume ofY) {
    return driver
        .snapshot(
            driver.snapshotRequest("snap-" + id, ofY.getVolumeId()).putParameters("clusterID", "y"))
        .getSnapshotId();
  }

  private List<String> foundByAll(SeveralIds configured, String... how) throws Exception {
    return found(configured.fsck(CEPH.cephFsUser(), how));
  }

  @Test
  void whatAnotherJournalClaimsIsNoLeftover() throws Exception {
    try (TestDriver driver = ids.startDriver()) {
      Volume ofY = create(driver, "y");
      String snapshot = snapshot(driver, ofY);
      String subvolume = ofY.getVolumeContextMap().get("subvolumeName");
      assertThat(foundByAll(ids, "--cluster=x")).isEmpty();
      assertThat(foundByAll(ids, "--cluster=y")).isEmpty();
      assertThat(foundByAll(ids, "--all-clusters")).isEmpty();
      assertThat(foundByAll(ids.only("x"), "--cluster=x"))
          .as("without the other clusterID nobody can know")
          .contains("SUBVOLUME_WITHOUT_ENTRY " + subvolume);
      driver.deleteSnapshot(snapshot);
      driver.delete(ofY.getVolumeId());
    }
  }

  /** Who removed it by a command of the report would remove the volume of another clusterID. */
  @Test
  void whereAJournalMayBeUnknownNothingIsCalledRemovable() throws Exception {
    String name = "csi-vol-" + UUID.randomUUID();
    CEPH.ceph("fs", "subvolume", "create", "cephfs", name, "--group_name", "csi");
    try {
      JsonNode found = finding(ids.fsck("admin", "--conf=" + CEPH.conf()), name);
      assertThat(found.path("command").asText()).isEmpty();
      assertThat(found.path("detail").asText()).contains("another clusterID may have it");
    } finally {
      CEPH.ceph("fs", "subvolume", "rm", "cephfs", name, "--group_name", "csi");
    }
    String orphan = "csi-vol-" + UUID.randomUUID();
    CEPH.ceph("fs", "subvolume", "create", "cephfs", orphan, "--group_name", group);
    try {
      JsonNode known = finding(ids.fsck(CEPH.cephFsUser(), "--cluster=x"), orphan);
      assertThat(known.path("command").asText()).contains("subvolume rm cephfs " + orphan);
      SeveralIds damaged = ids.withUnusable("z");
      JsonNode doubtful = finding(damaged.fsck(CEPH.cephFsUser(), "--cluster=x"), orphan);
      assertThat(doubtful.path("command").asText()).isEmpty();
    } finally {
      CEPH.ceph("fs", "subvolume", "rm", "cephfs", orphan, "--group_name", group);
    }
  }

  private static JsonNode finding(JsonNode report, String object) {
    for (JsonNode found : report.path("findings")) {
      if (found.path("object").asText().equals(object)) {
        return found;
      }
    }
    throw new AssertionError(object + " is not in " + report);
  }

  @Test
  void whatAJournalThatCannotBeReadMayHaveIsLeftOut() throws Exception {
    String orphan = "csi-vol-" + UUID.randomUUID();
    CEPH.ceph("fs", "subvolume", "create", "cephfs", orphan, "--group_name", group);
    makeUserOfX();
    try {
      JsonNode byAll = ids.fsck(CEPH.cephFsUser(), "--cluster=x");
      assertThat(byAll.path("findings").findValuesAsText("object")).containsExactly(orphan);
      assertThat(byAll.path("leftOut")).isEmpty();
      JsonNode byX = ids.fsck(userOfX, "--cluster=x");
      assertThat(byX.path("findings")).isEmpty();
      assertThat(byX.path("leftOut").toString())
          .contains("1 things were not judged", "subvolume " + orphan, "y-" + id);
      assertThat(ids.only("x").fsck(userOfX, "--cluster=x").path("leftOut"))
          .as("no other journal")
          .isEmpty();
    } finally {
      CephUsers.removeCephFs(CEPH, userOfX);
      CEPH.ceph("fs", "subvolume", "rm", "cephfs", orphan, "--group_name", group);
    }
  }

  /** The file of {@code --expect}. */
  private Path expected(List<String> volumes, String snapshot) throws Exception {
    ObjectNode root = new ObjectMapper().createObjectNode();
    ArrayNode items = root.putArray("items");
    for (String volume : volumes) {
      ObjectNode csi =
          items.addObject().put("kind", "PersistentVolume").putObject("spec").putObject("csi");
      csi.put("volumeHandle", volume).putObject("volumeAttributes").put("fsName", "cephfs");
    }
    ObjectNode content = items.addObject().put("kind", "VolumeSnapshotContent");
    content.putObject("spec").put("driver", "cephfs.csi.ceph.com");
    content.putObject("status").put("snapshotHandle", snapshot);
    return Files.writeString(folder.resolve("expected.json"), root.toString());
  }

  private static String without(Volume volume, String clusterId) {
    long location = VolumeId.parse(volume.getVolumeId()).orElseThrow().location();
    return new VolumeId(clusterId, location, UUID.randomUUID()).toString();
  }

  @Test
  void onlyVolumesThatTheirOwnJournalLacksAreLost() throws Exception {
    makeUserOfX();
    try (TestDriver driver = ids.startDriver()) {
      Volume ofX = create(driver, "x");
      Volume ofY = create(driver, "y");
      String snapshot = snapshot(driver, ofY);
      String lostX = without(ofX, "x");
      String lostY = without(ofY, "y");
      List<String> volumes = new ArrayList<>(List.of(ofX.getVolumeId(), ofY.getVolumeId()));
      volumes.addAll(List.of(lostX, lostY));
      String expect = "--expect=" + expected(volumes, snapshot);
      for (String how : List.of("--cluster=x", "--cluster=y", "--all-clusters")) {
        JsonNode all = ids.fsck(CEPH.cephFsUser(), how, expect);
        assertThat(found(all))
            .as(how)
            .containsExactlyInAnyOrder("PV_WITHOUT_ENTRY " + lostX, "PV_WITHOUT_ENTRY " + lostY);
        assertThat(all.path("leftOut")).isEmpty();
      }
      JsonNode byX = ids.fsck(userOfX, "--cluster=x", expect);
      assertThat(found(byX)).containsExactly("PV_WITHOUT_ENTRY " + lostX);
      assertThat(byX.path("leftOut").toString())
          .contains("3 volumes and snapshots were not judged", "y-" + id);
      driver.deleteSnapshot(snapshot);
      driver.delete(ofY.getVolumeId());
      driver.delete(ofX.getVolumeId());
    } finally {
      CephUsers.removeCephFs(CEPH, userOfX);
    }
  }

  @Test
  void whereNoClusterIdIsGivenTheFindingTellsWhichJournalWasRead() throws Exception {
    String lost = "0001-0001-x-" + "0000000000000001-" + UUID.randomUUID();
    String expect = "--expect=" + expected(List.of(lost), "");
    JsonNode report = ids.fsck("admin", "--conf=" + CEPH.conf(), expect);
    assertThat(report.path("findings"))
        .anySatisfy(
            finding -> {
              assertThat(finding.path("object").asText()).isEqualTo(lost);
              assertThat(finding.path("detail").asText())
                  .contains("only the journal in namespace \"csi\" was read");
            });
  }
}
