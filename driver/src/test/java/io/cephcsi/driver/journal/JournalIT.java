package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JournalIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String DIRECTORY = "csi.volumes.default";
  private static final Map<String, String> OWNER = Map.of("csi.volume.owner", "default");
  private static RadosCluster connection;

  private String namespace;
  private IoContext pool;
  private IoContext otherPool;
  private Omaps omaps;
  private Omaps otherOmaps;

  @BeforeAll
  static void connect() {
    connection = CLUSTER.connect();
  }

  @AfterAll
  static void disconnect() {
    connection.close();
  }

  @BeforeEach
  void namespace() {
    namespace = "journal-" + UUID.randomUUID();
    pool = connection.openPool(CLUSTER.pool(), namespace);
    otherPool = connection.openPool(CLUSTER.otherPool(), namespace);
    omaps = new Omaps(CLUSTER, CLUSTER.pool(), namespace);
    otherOmaps = new Omaps(CLUSTER, CLUSTER.otherPool(), namespace);
  }

  @AfterEach
  void close() {
    pool.close();
    otherPool.close();
  }

  private Journal volumes() {
    return new Journal(JournalKind.VOLUME, "default", pool, pool);
  }

  private static String volumeName(UUID uuid) {
    return "csi-vol-" + uuid;
  }

  private JournalEntry reserve(Journal journal, String name) {
    return journal.reserve(name, JournalIT::volumeName, Map.of());
  }

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

  // Attempts

  private Attempt begin() {
    return volumes().begin("pvc", JournalIT::volumeName, OWNER);
  }

  private static void assertAborted(Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOf(VolumeException.class)
        .hasFieldOrPropertyWithValue("reason", VolumeException.Reason.ABORTED);
  }

  private static void undo(Attempt attempt) {
    attempt.undo(() -> {});
  }

  @Test
  void whatALateAttemptMadeGoesOnceTheOneAfterItHasGivenUp() {
    Attempt late = begin();
    Attempt next = begin();
    next.undo(
        () -> {
          assertThat(next.mayDiscard()).isTrue();
          assertThat(late.mayDiscard()).isTrue();
          assertAborted(() -> late.completeImage("1"));
          assertAborted(() -> next.completeImage("1"));
          assertAborted(() -> undo(late));
          assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
        });
    assertThat(late.mayDiscard()).isTrue();
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void whatWasGivenUpStaysMarkedUntilItIsRemoved() {
    Attempt attempt = begin();
    assertThatThrownBy(
            () ->
                attempt.undo(
                    () -> {
                      throw new IllegalStateException("in use");
                    }))
        .isInstanceOf(IllegalStateException.class);
    JournalEntry left = begin().entry();
    assertThat(left.uuid()).isEqualTo(attempt.entry().uuid());
    VolumeId id = new VolumeId("cluster", pool.poolId(), left.uuid());
    AttachmentJournal attachments = new AttachmentJournal("default", pool);
    String mark = attachments.beginDeletion(id, left);
    attachments.endDeletion(id, mark);
    assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
    volumes().remove(left);
    assertThat(begin().entry().uuid()).isNotEqualTo(left.uuid());
  }

  @Test
  void whatAnotherProgramMayUseIsNotLookedForAgain() {
    reserve(volumes(), "pvc");
    begin().undo(() -> fail("it may have been made since"));
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void anAttemptThatWasTakenOverCanNeitherCompleteNorUndo() {
    Attempt slow = begin();
    assertThat(slow.mayDiscard()).isTrue();
    Attempt next = begin();
    assertThat(next.entry().uuid()).isEqualTo(slow.entry().uuid());
    assertThat(next.isTakenFromOthers()).isFalse();
    assertThat(next.mayDiscard()).isTrue();
    assertThat(slow.mayDiscard()).isFalse();
    assertAborted(slow::requireMine);
    assertAborted(() -> slow.recordSource(Optional.of("snapshot")));
    assertAborted(() -> slow.completeImage("1"));
    assertAborted(() -> undo(slow));

    next.recordSource(Optional.of("snapshot"));
    next.recordSource(Optional.empty());
    next.completeImage("2");
    assertThat(volumes().byName("pvc").orElseThrow().attributes())
        .isEqualTo(
            Map.of(
                "csi.volname",
                "pvc",
                "csi.imagename",
                next.entry().name(),
                "csi.volume.owner",
                "default",
                "csi.imageid",
                "2"));
    assertThat(begin().entry().isMade()).isTrue();
    assertAborted(() -> next.completeImage("3"));
    assertAborted(() -> undo(next));
    assertThat(next.mayBeKept("2")).isTrue();
    assertThat(next.mayBeKept("3")).isFalse();
  }

  @Test
  void anAttemptThatFailsFreesTheName() {
    Attempt attempt = begin();
    undo(attempt);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
    assertThat(attempt.mayDiscard()).isTrue();
    assertAborted(() -> attempt.completeImage("1"));
    undo(attempt);
    assertThat(begin().entry().uuid()).isNotEqualTo(attempt.entry().uuid());
  }

  @Test
  void anAttemptLeavesForeignRecordsAndEntriesBeingDeletedAlone() {
    Attempt attempt = begin();
    String object = "csi.volume." + attempt.entry().uuid();
    volumes().set(attempt.entry().uuid(), Map.of("csi.imageid", "theirs"));
    assertAborted(() -> undo(attempt));
    assertAborted(() -> attempt.recordSource(Optional.of("snapshot")));
    omaps.removeKey(object, "csi.imageid");
    volumes().set(attempt.entry().uuid(), Map.of("csi.java.deleting", "now"));
    assertAborted(() -> attempt.completeImage("1"));
    assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
    omaps.removeKey(object, "csi.java.deleting");
    undo(attempt);
    assertThat(omaps.all()).isEqualTo(Map.of(DIRECTORY, Map.of()));
  }

  @Test
  void whatAnotherProgramMakesIsTakenOverUnlessItWasQuicker() {
    JournalEntry theirs = reserve(volumes(), "pvc");
    Attempt attempt = begin();
    assertThat(attempt.entry().uuid()).isEqualTo(theirs.uuid());
    assertThat(attempt.isTakenFromOthers()).isTrue();
    Attempt second = begin();
    assertThat(second.isTakenFromOthers()).as("also after an attempt that failed").isTrue();
    assertAborted(() -> attempt.completeImage("2"));
    assertThat(attempt.mayBeKept("2")).as("the second may take it for theirs").isTrue();
    volumes().setImageId(theirs.uuid(), "1");
    assertThat(second.mayDiscard()).isFalse();
    assertThat(attempt.mayBeKept("2")).isFalse();
    assertAborted(() -> second.completeImage("2"));
    assertThat(volumes().byName("pvc").orElseThrow().imageId()).contains("1");
  }

  @Test
  void whatIsBeingDeletedIsNotTakenOver() {
    Attempt attempt = begin();
    volumes().set(attempt.entry().uuid(), Map.of("csi.java.deleting", "now"));
    assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
    assertThat(attempt.mayDiscard()).isTrue();
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

  // Races

  @Test
  void allWhoReserveANameAtOnceGetOneUuid() throws Exception {
    int threads = 32;
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    CyclicBarrier barrier = new CyclicBarrier(threads);
    try (RadosCluster second = CLUSTER.connect();
        IoContext secondPool = second.openPool(CLUSTER.pool(), namespace)) {
      Journal otherProcess = new Journal(JournalKind.VOLUME, "default", secondPool, secondPool);
      for (int round = 0; round < 5; round++) {
        String name = "pvc-" + round;
        List<Callable<JournalEntry>> calls = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
          Journal journal = i % 2 == 0 ? volumes() : otherProcess;
          calls.add(
              () -> {
                barrier.await(60, TimeUnit.SECONDS);
                return reserve(journal, name);
              });
        }
        List<JournalEntry> entries = new ArrayList<>();
        for (Future<JournalEntry> call : executor.invokeAll(calls)) {
          entries.add(call.get());
        }
        assertThat(entries).containsOnly(entries.get(0));
      }
    } finally {
      executor.shutdownNow();
    }
    assertThat(omaps.of(DIRECTORY)).hasSize(5);
    assertThat(omaps.objects()).as("directory and five volumes").hasSize(6);
  }

  @Test
  void ofManyNamesAtOnceEachGetsItsOwn() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(16);
    try {
      List<Callable<UUID>> calls = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        String name = "pvc-" + i;
        calls.add(() -> reserve(volumes(), name).uuid());
      }
      List<UUID> uuids = new ArrayList<>();
      for (Future<UUID> call : executor.invokeAll(calls)) {
        uuids.add(call.get());
      }
      assertThat(uuids).doesNotHaveDuplicates();
      for (int i = 0; i < 64; i++) {
        assertThat(volumes().byName("pvc-" + i).orElseThrow().uuid()).isEqualTo(uuids.get(i));
      }
    } finally {
      executor.shutdownNow();
    }
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

  @ParameterizedTest
  @ValueSource(strings = {"a\0", "\0", "a\nb", "a/", "\u202Ea"})
  void whatCouldNotBeReadAgainIsNotReserved(String prefix) {
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            () -> volumes().reserve("pvc", uuid -> prefix + uuid, Map.of()),
            () -> volumes().begin("pvc", uuid -> prefix + uuid, Map.of()),
            () -> volumes().reserve("pvc" + prefix.replace('/', '\0'), UUID::toString, Map.of()))) {
      assertThatThrownBy(call)
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT));
    }
    assertThat(omaps.all()).isEmpty();
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
}
