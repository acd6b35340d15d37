package io.cephcsi.driver.fsck.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The entry of something encrypted leads to the key in its KMS, also when its image is gone. */
class EncryptedEntryRepairIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final Map<String, String> ENCRYPTED = Map.of("csi.volume.encryptKMS", "vault");
  private static final Map<String, String> RESERVED = Map.of("csi.java.maker", "1");

  private final String namespace = "encrypted-" + UUID.randomUUID();
  private RadosCluster cluster;
  private IoContext io;

  @BeforeEach
  void open() {
    CEPH.rbd("namespace", "create", CEPH.pool() + "/" + namespace);
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool(), namespace);
  }

  @AfterEach
  void removeAll() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
    CEPH.rbd("namespace", "remove", CEPH.pool() + "/" + namespace);
  }

  private UUID reserve(Map<String, String> attributes, Map<String, String> more) {
    Map<String, String> all = new HashMap<>(attributes);
    all.putAll(more);
    return new Journal(JournalKind.VOLUME, "default", io, io)
        .reserve("pvc-" + UUID.randomUUID(), uuid -> "csi-vol-" + uuid, all)
        .uuid();
  }

  private static Map<String, String> deleting(String imageId) {
    return Map.of("csi.imageid", imageId, "csi.java.deleting", "2026-01-01T00:00:00Z 1");
  }

  private List<Finding> check() {
    CheckSettings settings =
        new CheckSettings(16, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, false);
    try (Workers workers = new Workers(settings)) {
      return new RbdCheck(settings, workers, new CheckProgress(), Set.of("default"))
          .check(io)
          .findings();
    }
  }

  private static void mend(List<Finding> findings) {
    findings.forEach(finding -> finding.repair().ifPresent(Finding.Repair::mend));
  }

  private static String detail(List<Finding> findings, UUID entry) {
    return findings.stream()
        .filter(finding -> finding.object().equals("csi.volume." + entry))
        .findFirst()
        .map(Finding::detail)
        .orElseThrow();
  }

  @Test
  void itStaysUntilTheKeyIsRemoved() {
    List<UUID> staying =
        List.of(reserve(deleting("fff01"), ENCRYPTED), reserve(RESERVED, ENCRYPTED));
    List<UUID> going = List.of(reserve(deleting("fff02"), Map.of()), reserve(RESERVED, Map.of()));
    List<Finding> findings = check();
    assertThat(findings).hasSize(4);
    staying.forEach(
        uuid ->
            assertThat(detail(findings, uuid))
                .endsWith("; repeat DeleteVolume, so that its KMS forgets the key"));
    going.forEach(uuid -> assertThat(detail(findings, uuid)).doesNotContain("KMS"));
    mend(findings);
    staying.forEach(uuid -> assertThat(io.exists("csi.volume." + uuid)).isTrue());
    going.forEach(uuid -> assertThat(io.exists("csi.volume." + uuid)).isFalse());
  }

  @Test
  void itStaysWithoutAName() {
    UUID uuid = reserve(RESERVED, ENCRYPTED);
    io.remove("csi.volumes.default");
    mend(check());
    assertThat(io.exists("csi.volume." + uuid)).isTrue();
  }
}
