package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.testing.Golden;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the journal writes is what ceph-csi writes, and nothing else changes. */
class JournalIT extends JournalCase {

  // The bytes of ceph-csi

  @ParameterizedTest
  @ValueSource(
      strings = {
        "RBD CreateVolume pvc-1",
        "RBD CreateSnapshot snap-1",
        "RBD DeleteVolume pvc-1, DeleteSnapshot snap-1 (clones remain)"
      })
  void whatCephCsiWroteIsRead(String call) {
    Map<String, Map<String, String>> golden = Golden.journal(call);
    omaps.put(golden);
    for (JournalKind kind : JournalKind.values()) {
      Journal journal = new Journal(kind, "default", pool, pool);
      golden
          .getOrDefault(kind.directory("default"), Map.of())
          .forEach(
              (key, value) -> {
                UUID uuid = UUID.fromString(value);
                String requestName = key.substring(kind.directoryKey("").length());
                JournalEntry entry = journal.byName(requestName).orElseThrow();
                assertThat(journal.byUuid(uuid)).contains(entry);
                assertThat(entry.uuid()).isEqualTo(uuid);
                assertThat(entry.requestName()).isEqualTo(requestName);
                assertThat(entry.name()).endsWith(value).startsWith("csi-");
                assertThat(entry.attributes()).isEqualTo(golden.get(kind.object(uuid)));
                assertThat(entry.journalPoolId()).isEmpty();
                if (kind != JournalKind.GROUP) {
                  assertThat(entry.imageId()).contains(entry.attributes().get("csi.imageid"));
                }
                assertThat(journal.reserve(requestName, name -> "other", Map.of()))
                    .as("reserving what ceph-csi reserved")
                    .isEqualTo(entry);
              });
    }
    assertThat(omaps.all()).as("nothing is changed").isEqualTo(new java.util.TreeMap<>(golden));
  }

  @Test
  void aVolumeIsWrittenByteForByteAsCephCsiWritesIt() {
    Map<String, Map<String, String>> golden = Golden.journal("RBD CreateVolume pvc-1");
    JournalEntry entry = volumes().reserve("pvc-1", JournalIT::volumeName, OWNER);
    volumes().setImageId(entry.uuid(), "10312133e6c0");
    assertThat(omaps.all())
        .isEqualTo(renamed(golden, "d006837f-8023-4d3f-9c17-7264f6ccbe95", entry.uuid()));
  }

  @Test
  void aSnapshotIsWrittenByteForByteAsCephCsiWritesIt() {
    Map<String, Map<String, String>> golden = new LinkedHashMap<>();
    Golden.journal("RBD CreateSnapshot snap-1")
        .forEach(
            (object, omap) -> {
              if (object.startsWith("csi.snap")) {
                golden.put(object, omap);
              }
            });
    Journal journal = new Journal(JournalKind.SNAPSHOT, "default", pool, pool);
    JournalEntry entry =
        journal.reserve(
            "snap-1",
            uuid -> "csi-snap-" + uuid,
            Map.of(
                "csi.source",
                "csi-vol-d006837f-8023-4d3f-9c17-7264f6ccbe95",
                "csi.volume.owner",
                "default"));
    journal.setImageId(entry.uuid(), "103177524f1e");
    assertThat(omaps.all())
        .isEqualTo(renamed(golden, "a73fa372-9cb6-4487-8935-18eb6082c3d2", entry.uuid()));
  }

  @Test
  void removingWhatCephCsiWroteLeavesWhatCephCsiWouldLeave() {
    omaps.put(Golden.journal("RBD CreateSnapshot snap-1"));
    volumes().remove(volumes().byName("pvc-1").orElseThrow());
    Journal snapshots = new Journal(JournalKind.SNAPSHOT, "default", pool, pool);
    snapshots.remove(snapshots.byName("snap-1").orElseThrow());
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of(), "csi.snaps.default", Map.of()));
  }

  private static Map<String, Map<String, String>> renamed(
      Map<String, Map<String, String>> journal, String from, UUID to) {
    Map<String, Map<String, String>> renamed = new java.util.TreeMap<>();
    journal.forEach(
        (object, omap) -> {
          Map<String, String> values = new java.util.TreeMap<>();
          omap.forEach((key, value) -> values.put(key, value.replace(from, to.toString())));
          renamed.put(object.replace(from, to.toString()), values);
        });
    return renamed;
  }

  @Test
  void instancesDoNotSeeEachOther() {
    JournalEntry mine = reserve(volumes(), "pvc");
    Journal other = new Journal(JournalKind.VOLUME, "blue", pool, pool);
    assertThat(other.byName("pvc")).isEmpty();
    assertThat(reserve(other, "pvc").uuid()).isNotEqualTo(mine.uuid());
    assertThat(omaps.of("csi.volumes.blue")).containsOnlyKeys("csi.volume.pvc");
  }

  // The journal in another pool than the image

  @Test
  void withAJournalPoolEachKeyIsInThePoolWhereCephCsiLooksForIt() {
    Journal journal = new Journal(JournalKind.VOLUME, "default", otherPool, pool);
    JournalEntry entry = reserve(journal, "pvc");
    String imagePoolHex = HexFormat.of().toHexDigits(pool.poolId());
    String journalPoolHex = HexFormat.of().toHexDigits(otherPool.poolId());
    assertThat(otherOmaps.all())
        .isEqualTo(Map.of(DIRECTORY, Map.of("csi.volume.pvc", imagePoolHex + "/" + entry.uuid())));
    assertThat(omaps.all())
        .isEqualTo(
            Map.of(
                "csi.volume." + entry.uuid(),
                Map.of(
                    "csi.volname",
                    "pvc",
                    "csi.imagename",
                    "csi-vol-" + entry.uuid(),
                    "csi.journalpool",
                    journalPoolHex)));
    assertThat(entry.journalPoolId()).hasValue(otherPool.poolId());
    assertThat(journal.byName("pvc")).contains(entry);
    assertThat(reserve(journal, "pvc")).isEqualTo(entry);

    journal.undo(entry);
    assertThat(omaps.objects()).isEmpty();
    assertThat(otherOmaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));

    journal.remove(reserve(journal, "pvc"));
    assertThat(omaps.objects()).isEmpty();
    assertThat(otherOmaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void aNameOfAnotherPoolIsNotMixedUp() {
    reserve(new Journal(JournalKind.VOLUME, "default", otherPool, pool), "pvc");
    Journal elsewhere = new Journal(JournalKind.VOLUME, "default", otherPool, otherPool);
    Map<String, Map<String, String>> before = otherOmaps.all();
    assertThatThrownBy(() -> reserve(elsewhere, "pvc"))
        .isInstanceOf(PoolMismatchException.class)
        .hasMessageContaining("pvc")
        .hasMessageContaining(Long.toString(pool.poolId()));
    assertThat(elsewhere.byName("pvc")).isEmpty();
    assertThat(otherOmaps.all()).isEqualTo(before);
  }

  // Size

  @Test
  void keysOfALargeDirectoryAreFoundByName() {
    for (int batch = 0; batch < 10; batch++) {
      Map<String, byte[]> names = new LinkedHashMap<>();
      for (int i = 0; i < 1000; i++) {
        names.put(
            "csi.volume.pvc-%05d".formatted(batch * 1000 + i),
            UUID.randomUUID().toString().getBytes(UTF_8));
      }
      try (WriteOperation write = new WriteOperation()) {
        pool.operate(DIRECTORY, write.create().omapSet(names));
      }
    }
    // One listing call reaches 1024 keys at most: first, behind the first page, last, in between.
    for (String name : List.of("a", "pvc-01024a", "pvc-05000a", "zzz")) {
      JournalEntry entry = reserve(volumes(), name);
      assertThat(volumes().byName(name)).contains(entry);
      assertThat(reserve(volumes(), name)).isEqualTo(entry);
      volumes().remove(entry);
      assertThat(volumes().byName(name)).isEmpty();
    }
    assertThat(CLUSTER.rados("-p", CLUSTER.pool(), "-N", namespace, "listomapkeys", DIRECTORY))
        .hasLineCount(10_000);
    assertThat(volumes().byName("pvc-09999")).as("in the directory, without an object").isEmpty();
  }

  @Test
  void anEntryWithMoreKeysThanOnePageIsReadWhole() {
    JournalEntry entry = reserve(volumes(), "pvc");
    Map<String, String> many = new LinkedHashMap<>();
    for (int i = 0; i < 2500; i++) {
      many.put("a.key-" + i, "value-" + i);
      many.put("z.key-" + i, "");
    }
    volumes().set(entry.uuid(), many);
    JournalEntry read = volumes().byUuid(entry.uuid()).orElseThrow();
    assertThat(read.attributes()).hasSize(5002).containsAllEntriesOf(many);
    assertThat(read.requestName()).isEqualTo("pvc");
  }

  @Test
  void whereThereIsNoDirectoryNothingIsFoundAndRemovalSucceeds() {
    assertThat(volumes().byName("pvc")).isEmpty();
    assertThat(volumes().byUuid(UUID.randomUUID())).isEmpty();
    UUID uuid = UUID.randomUUID();
    JournalEntry entry = new JournalEntry(uuid, "pvc", volumeName(uuid), Map.of());
    volumes().remove(entry);
    volumes().undo(entry);
    assertThat(omaps.objects()).isEmpty();
    assertThatThrownBy(() -> volumes().setImageId(uuid, "1"))
        .isInstanceOf(CephException.NotFound.class);
    assertThat(omaps.objects()).isEmpty();
  }

  @Test
  void keysOfOtherProgramsSurvive() {
    JournalEntry entry = reserve(volumes(), "pvc");
    String object = "csi.volume." + entry.uuid();
    omaps.set(object, "csi.volume.encryptKMS", "vault");
    omaps.set(object, "of.a.newer.version", "ünïcödé");
    volumes().setImageId(entry.uuid(), "1234");
    volumes().setImageId(entry.uuid(), "1234");
    assertThat(reserve(volumes(), "pvc").attributes())
        .containsEntry("csi.volume.encryptKMS", "vault")
        .containsEntry("of.a.newer.version", "ünïcödé")
        .containsEntry("csi.imageid", "1234")
        .hasSize(5);
    assertThat(omaps.of(object))
        .containsEntry("csi.volume.encryptKMS", "vault")
        .containsEntry("of.a.newer.version", "ünïcödé");
  }

  @Test
  void namesWithAnyCharactersAreKept() {
    for (String name : List.of("pvc 1", "pvc/2", "ünïcödé", "🐙", "x".repeat(128))) {
      JournalEntry entry = reserve(volumes(), name);
      assertThat(volumes().byName(name)).contains(entry);
      assertThat(entry.requestName()).isEqualTo(name);
      volumes().remove(entry);
    }
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  // Names that this process knew lately

  @Test
  void aNameThatOthersDeletedAndReservedAnewLeadsToTheNewEntry() {
    reserve(volumes(), "pvc");
    JournalEntry young = new JournalEntry(UUID.randomUUID(), "pvc", "csi-vol-x", Map.of());
    omaps.put(
        Map.of(
            DIRECTORY,
            Map.of("csi.volume.pvc", young.uuid().toString()),
            "csi.volume." + young.uuid(),
            Map.of("csi.volname", "pvc", "csi.imagename", "x")));
    assertThat(reserve(volumes(), "pvc").uuid()).isEqualTo(young.uuid());
  }

  @Test
  void aNameThatOthersFreedIsReservedAnewThoughTheEntryIsStillThere() {
    JournalEntry old = reserve(volumes(), "pvc");
    omaps.removeKey(DIRECTORY, "csi.volume.pvc");
    Journal.Reservation young = volumes().reserveOrFind("pvc", JournalCase::volumeName, Map.of());
    assertThat(young.isNew()).isTrue();
    assertThat(young.entry().uuid()).isNotEqualTo(old.uuid());
  }

  @Test
  void aNameWhoseEntryOthersRemovedKeepsItsUuid() {
    JournalEntry old = reserve(volumes(), "pvc");
    omaps.remove("csi.volume." + old.uuid());
    assertThat(reserve(volumes(), "pvc").uuid()).isEqualTo(old.uuid());
    assertThat(omaps.objects()).contains("csi.volume." + old.uuid());
  }

  @Test
  void whatOthersWroteToTheEntryOfANameIsRead() {
    JournalEntry entry = reserve(volumes(), "pvc");
    volumes().setImageId(entry.uuid(), "4711");
    assertThat(reserve(volumes(), "pvc").imageId()).contains("4711");
  }

  @Test
  void damageOfAnEntryThatTheNameNoLongerLeadsToIsNotToldOfTheName() {
    JournalEntry old = reserve(volumes(), "pvc");
    omaps.set("csi.volume." + old.uuid(), "csi.imagename", "a/b");
    omaps.removeKey(DIRECTORY, "csi.volume.pvc");
    assertThat(reserve(volumes(), "pvc").uuid()).isNotEqualTo(old.uuid());
  }

  // Two calls on one reservation

  @Test
  void anUndoRemovesNothingThatAnotherCallGoesOnWith() {
    JournalEntry first = reserve(volumes(), "pvc");
    JournalEntry second = reserve(volumes(), "pvc");
    volumes().takeOver(second);
    volumes().undoUnlessTakenOver(first);
    assertThat(volumes().byName("pvc")).map(JournalEntry::uuid).contains(first.uuid());
    volumes().undoUnlessTakenOver(reserve(volumes(), "pvc"));
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void anUndoThatIsStoppedTakesTheNameFromNobody() {
    Journal journal = new Journal(JournalKind.VOLUME, "default", otherPool, pool);
    JournalEntry first = reserve(journal, "pvc");
    IoContext unreachable = connection.openPool(CLUSTER.otherPool(), namespace);
    unreachable.close();
    Journal stopped = new Journal(JournalKind.VOLUME, "default", unreachable, pool);
    assertThatThrownBy(() -> stopped.undoUnlessTakenOver(first))
        .isInstanceOf(IllegalStateException.class);

    JournalEntry second = reserve(journal, "pvc");
    if (AttachmentJournal.isBeingDeleted(second)) { // as whoever finds it does
      journal.remove(second);
      second = reserve(journal, "pvc");
    }
    journal.freeName(first); // what the stopped call had under way
    assertThat(journal.byName("pvc")).contains(second);
  }

  /** A call that goes on with an entry and fails can still undo it. */
  @Test
  void theEntryThatWasTakenOverIsUndoneByWhoTookIt() {
    JournalEntry taken = volumes().takeOver(reserve(volumes(), "pvc"));
    assertThat(volumes().byName("pvc")).contains(taken);
    volumes().undoUnlessTakenOver(taken);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void nobodyGoesOnWithWhatIsBeingUndone() {
    JournalEntry first = reserve(volumes(), "pvc");
    assertThat(new EntryObjects(JournalKind.VOLUME, pool, pool).markUnlessRenewed(first)).isTrue();
    assertAborted(() -> volumes().takeOver(first));
  }

  @Test
  void nobodyGoesOnWithWhatAnotherCallHasTakenOverOrUndone() {
    JournalEntry first = reserve(volumes(), "pvc");
    volumes().takeOver(first);
    assertAborted(() -> volumes().takeOver(first));
    JournalEntry second = reserve(volumes(), "pvc");
    volumes().undoUnlessTakenOver(second);
    assertAborted(() -> volumes().takeOver(second));
  }
}
