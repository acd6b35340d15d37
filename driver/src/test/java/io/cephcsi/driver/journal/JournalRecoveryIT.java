package io.cephcsi.driver.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a program left that died over a reservation or a removal, or that was damaged. */
class JournalRecoveryIT extends JournalCase {

  // Crash points: what one step left, the next call of the same name completes or removes

  @Test
  void aReservationThatDiedAfterTheDirectoryKeyKeepsItsUuid() {
    UUID uuid = UUID.randomUUID();
    omaps.put(Map.of(DIRECTORY, Map.of("csi.volume.pvc", uuid.toString())));
    assertThat(volumes().byName("pvc")).isEmpty();
    assertComplete(reserve(volumes(), "pvc"), uuid);
  }

  @Test
  void aReservationThatDiedAfterAnEmptyObjectIsCompletedWithItsUuid() {
    UUID uuid = UUID.randomUUID();
    omaps.put(Map.of(DIRECTORY, Map.of("csi.volume.pvc", uuid.toString())));
    omaps.create("csi.volume." + uuid);
    assertThat(volumes().byName("pvc")).isEmpty();
    assertComplete(reserve(volumes(), "pvc"), uuid);
  }

  @ParameterizedTest
  @ValueSource(strings = {"csi.volname", "csi.imagename"})
  void aReservationThatDiedBetweenItsKeysIsCompletedWithItsUuid(String missing) {
    JournalEntry entry = reserve(volumes(), "pvc");
    omaps.removeKey("csi.volume." + entry.uuid(), missing);
    assertThat(volumes().byName("pvc")).isEmpty();
    assertComplete(reserve(volumes(), "pvc"), entry.uuid());
  }

  @Test
  void aCephCsiReservationWithoutADirectoryKeyDoesNotHinder() {
    // ceph-csi makes the object first: nothing leads to it, fsck collects it.
    UUID uuid = UUID.randomUUID();
    omaps.create("csi.volume." + uuid);
    JournalEntry entry = reserve(volumes(), "pvc");
    assertThat(entry.uuid()).isNotEqualTo(uuid);
    assertThat(omaps.objects())
        .containsExactlyInAnyOrder(DIRECTORY, "csi.volume." + uuid, "csi.volume." + entry.uuid());
  }

  @Test
  void aRemovalThatDiedAfterTheDirectoryKeyIsEndedByItsRetry() {
    JournalEntry entry = reserve(volumes(), "pvc");
    omaps.removeKey(DIRECTORY, "csi.volume.pvc");
    JournalEntry found = volumes().byUuid(entry.uuid()).orElseThrow();
    volumes().remove(found);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
    volumes().remove(found);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void aRemovalThatDiedDoesNotTakeTheNameFromAnotherVolume() {
    JournalEntry old = reserve(volumes(), "pvc");
    omaps.removeKey(DIRECTORY, "csi.volume.pvc");
    JournalEntry young = reserve(volumes(), "pvc");
    assertThat(young.uuid()).isNotEqualTo(old.uuid());
    volumes().remove(old);
    assertThat(volumes().byName("pvc")).contains(young);
    volumes().undo(old);
    assertThat(volumes().byName("pvc")).contains(young);
    assertThat(omaps.objects()).containsExactly("csi.volume." + young.uuid(), DIRECTORY);
  }

  @Test
  void anUndoThatDiedAfterTheObjectIsMadeGoodByTheNextReservation() {
    JournalEntry entry = reserve(volumes(), "pvc");
    omaps.remove("csi.volume." + entry.uuid());
    assertComplete(reserve(volumes(), "pvc"), entry.uuid());
    volumes().undo(entry);
    volumes().undo(entry);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void aRevertedAttemptFreesANameWhoseMakerDiedBeforeTheEntry() {
    JournalEntry whole = reserve(volumes(), "whole");
    JournalEntry bare = reserve(volumes(), "pvc");
    omaps.remove("csi.volume." + bare.uuid());
    assertThat(volumes().byName("pvc")).isEmpty();
    assertThat(volumes().imagePoolOf("pvc")).hasValue(pool.poolId());
    undo(begin());
    assertThat(volumes().byName("whole")).contains(whole);
    assertThat(omaps.objects()).containsExactly("csi.volume." + whole.uuid(), DIRECTORY);
    assertThat(omaps.all().get(DIRECTORY)).containsOnlyKeys("csi.volume.whole");
  }

  @Test
  void aNameWithoutAnEntryIsNotMadeAnewIfWhatItStandsForIsThere() {
    UUID uuid = UUID.randomUUID();
    omaps.put(Map.of(DIRECTORY, Map.of("csi.volume.pvc", uuid.toString())));
    ClusterNames taken =
        new ClusterNames() {
          @Override
          public String of(UUID uuid) {
            return volumeName(uuid);
          }

          @Override
          public boolean isTaken(String name) {
            return name.equals(volumeName(uuid));
          }
        };
    Map<String, Map<String, String>> before = omaps.all();
    assertThatThrownBy(() -> volumes().begin("pvc", taken, OWNER))
        .hasFieldOrPropertyWithValue("reason", Reason.FAILED_PRECONDITION)
        .hasMessageContaining("damaged")
        .hasMessageContaining(volumeName(uuid));
    assertThat(omaps.all()).isEqualTo(before);
    assertThat(volumes().begin("other", taken, OWNER).entry().uuid()).isNotEqualTo(uuid);
  }

  @Test
  void aNameIsResumedWithItsEntryAndFreedWithoutOne() {
    assertThat(volumes().resume("pvc")).isEmpty();
    Attempt first = begin();
    Attempt next = volumes().resume("pvc").orElseThrow();
    assertThat(next.entry().uuid()).isEqualTo(first.entry().uuid());
    assertAborted(() -> first.completeImage("1"));
    assertThat(new Journal(JournalKind.VOLUME, "default", pool, otherPool).resume("pvc")).isEmpty();
    assertThat(volumes().byName("pvc")).as("it is in another pool").isPresent();
    omaps.remove("csi.volume." + first.entry().uuid());
    assertThat(volumes().resume("pvc")).isEmpty();
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  private void assertComplete(JournalEntry entry, UUID uuid) {
    assertThat(entry.uuid()).isEqualTo(uuid);
    assertThat(volumes().byName("pvc")).contains(entry);
    assertThat(omaps.all())
        .isEqualTo(
            Map.of(
                DIRECTORY,
                Map.of("csi.volume.pvc", uuid.toString()),
                "csi.volume." + uuid,
                Map.of("csi.volname", "pvc", "csi.imagename", "csi-vol-" + uuid)));
  }

  // Damage

  @ParameterizedTest
  @ValueSource(
      strings = {
        "not-a-uuid",
        "d006837f8-023-4d3f-9c17-7264f6ccbe95",
        "D006837F-8023-4D3F-9C17-7264F6CCBE95",
        "00000000000000zz/d006837f-8023-4d3f-9c17-7264f6ccbe95"
      })
  void aDamagedDirectoryValueIsAnErrorThatChangesNothing(String value) {
    omaps.put(Map.of(DIRECTORY, Map.of("csi.volume.pvc", value)));
    Map<String, Map<String, String>> before = omaps.all();
    for (Function<Journal, Object> call :
        List.<Function<Journal, Object>>of(
            journal -> journal.byName("pvc"), journal -> reserve(journal, "pvc"))) {
      assertThatThrownBy(() -> call.apply(volumes()))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("damaged")
          .hasMessageContaining(value);
    }
    UUID uuid = UUID.randomUUID();
    volumes().undo(new JournalEntry(uuid, "pvc", volumeName(uuid), Map.of()));
    assertThat(omaps.all()).isEqualTo(before);
  }

  @Test
  void aNameThatLeadsToAnotherNamesEntryFailsAndChangesNothing() {
    JournalEntry other = reserve(volumes(), "other");
    omaps.set(DIRECTORY, "csi.volume.pvc", other.uuid().toString());
    Map<String, Map<String, String>> before = omaps.all();
    assertThatThrownBy(() -> reserve(volumes(), "pvc")).hasMessageContaining("damaged");
    assertThatThrownBy(() -> volumes().byName("pvc")).hasMessageContaining("damaged");
    assertThat(omaps.all()).isEqualTo(before);
  }
}
