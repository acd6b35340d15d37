package io.cephcsi.driver.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What becomes of the snapshots and the entry of a group's snapshot that was not brought to its
 * end; also on clusters that cannot quiesce, where the journal is written as a driver leaves it.
 */
class GroupSnapshotPartsIT extends ManagerCase {
  private final String name = "gs-" + UUID.randomUUID();
  private final Trackers trackers = new Trackers();
  private final Lease lease = lease();
  private final OpenFileSystem files = OpenFileSystem.named(lease, CLUSTER.fileSystem(), "default");
  private Volume source = Volume.getDefaultInstance();
  private Snapshot part = Snapshot.getDefaultInstance();

  @BeforeEach
  void takePart() {
    source = driver.create(name + "-source", 16 * MIB);
    part = driver.snapshot(name + "-part", source.getVolumeId());
  }

  @AfterEach
  void nothingIsLeft() {
    driver.delete(source.getVolumeId());
    lease.close();
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static VolumeId id(String text) {
    return VolumeId.parse(text).orElseThrow();
  }

  private String subvolume() {
    return source.getVolumeContextMap().get("subvolumeName");
  }

  /** A group's snapshot, as ceph-csi records it. */
  private GroupEntry record(Map<VolumeId, String> values) {
    return new GroupEntry(
        files.groups().reserve(name, uuid -> "csi-vol-group-" + uuid, values).entry());
  }

  private GroupEntry recordPart() {
    return record(Map.of(id(source.getVolumeId()), part.getSnapshotId()));
  }

  private GroupSnapshotCreation taking(GroupEntry entry) {
    return new GroupSnapshotCreation(files, trackers, entry, "csi-snap-");
  }

  private SnapshotAttempts attempts(GroupEntry entry) {
    return new SnapshotAttempts(files.metadata(), entry.journal().uuid());
  }

  private static void assertAborted(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
  }

  /** Its subvolume is not there, so it cannot be quiesced. */
  private OpenVolume gone() {
    VolumeId id = id(source.getVolumeId());
    UUID uuid = UUID.randomUUID();
    return new OpenVolume(id, files, new JournalEntry(uuid, "gone", "csi-vol-" + uuid, Map.of()));
  }

  @Test
  void aPartThatIsShownStaysWhenTheNameIsTakenAnew() {
    Volume shallow = driver.show(name + "-shallow", part.getSnapshotId());
    GroupEntry entry = recordPart();
    assertAborted(() -> taking(entry).carryOut(List.of(gone()), false));
    assertThat(STATE.snapshots(subvolume()))
        .containsExactly("csi-snap-" + id(part.getSnapshotId()).uuid());
    files.groups().remove(entry.journal());
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.snapshots(subvolume())).isEmpty();
  }

  @Test
  void aPartThatIsDeletedIsNotGivenThoughItIsShown() {
    Volume shallow = driver.show(name + "-shallow", part.getSnapshotId());
    GroupEntry entry = recordPart();
    String id = files.id(entry.journal().uuid()).toString();
    List<String> parts = List.of(part.getSnapshotId());
    TestGroupSnapshots groups = new TestGroupSnapshots(driver);
    assertThat(TestGroupSnapshots.ids(groups.get(id, parts))).isEqualTo(parts);
    BackingSnapshot.of(files, trackers, part.getSnapshotId())
        .delete(files.snapshots().byUuid(id(part.getSnapshotId()).uuid()).orElseThrow());
    assertStatus(Code.NOT_FOUND, id, () -> groups.get(id, parts));
    groups.delete(id, parts);
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void whatANewOneLeavesThatCouldNotBeTakenIsRemoved() {
    GroupEntry entry = record(Map.of());
    assertAborted(() -> taking(entry).carryOut(List.of(gone()), true));
    assertThat(files.groups().byName(name)).isEmpty();
    assertThat(files.groups().byUuid(entry.journal().uuid())).isEmpty();
    driver.deleteSnapshot(part.getSnapshotId());
  }

  @Test
  void anEntryThatADriverDiedRemovingIsRemovedAndNotUsedAgain() {
    GroupEntry entry = record(Map.of());
    assertThat(attempts(entry).begin(attempts(entry).read().orElseThrow(), "one")).isTrue();
    String mark = attempts(entry).end("one").orElseThrow();
    assertThat(taking(entry).isDone()).isFalse();
    assertAborted(() -> taking(entry).carryOut(List.of(gone()), false));
    assertThat(attempts(entry).read()).isEmpty();
    GroupEntry next = record(Map.of());
    assertThat(next.journal().uuid()).isNotEqualTo(entry.journal().uuid());
    // The one that only was slow goes on:
    files.groups().freeName(entry.journal());
    assertThat(attempts(entry).remove(mark)).isFalse();
    assertThat(files.groups().byName(name)).isPresent();
    files.groups().remove(next.journal());
    driver.deleteSnapshot(part.getSnapshotId());
  }

  @Test
  void ofOneThatCanNeverBeTakenNothingIsLeft() {
    GroupEntry entry = recordPart();
    VolumeId id = id(source.getVolumeId());
    Map<String, String> attributes =
        Map.of(
            JournalEntry.SOURCE,
            subvolume(),
            JournalEntry.GROUP_ID,
            files.id(entry.journal().uuid()).toString());
    assertThat(
            files
                .snapshots()
                .reserve(name + "-" + id.uuid(), uuid -> "csi-snap-" + uuid, attributes)
                .groupId())
        .isPresent();
    taking(entry).abandon(List.of(id));
    assertThat(STATE.snapshots(subvolume())).isEmpty();
    assertThat(STATE.leftovers())
        .containsExactlyInAnyOrder(
            subvolume(), "csi.volume." + id.uuid(), "csi.volume." + name + "-source");
  }
}
