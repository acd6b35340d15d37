package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts of several programs at one name. */
class JournalAttemptIT extends JournalCase {

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
    AttachmentJournal.Mark mark = attachments.beginDeletion(id, left);
    attachments.endDeletion(id, mark.value());
    assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
    volumes().remove(left);
    assertThat(begin().entry().uuid()).isNotEqualTo(left.uuid());
  }

  /** Who replaced one does not know whether another driver still works on it. */
  @Test
  void aMarkTellsWhetherItReplacedAnother() {
    JournalEntry entry = begin().entry();
    VolumeId id = new VolumeId("cluster", pool.poolId(), entry.uuid());
    AttachmentJournal attachments = new AttachmentJournal("default", pool);
    AttachmentJournal.Mark first = attachments.beginDeletion(id, entry);
    AttachmentJournal.Mark second = attachments.beginDeletion(id, entry);
    assertThat(first.replacedAnother()).isFalse();
    assertThat(second.replacedAnother()).isTrue();
    attachments.endDeletion(id, first.value());
    assertThat(AttachmentJournal.isBeingDeleted(begin().entry())).isTrue();
    attachments.endDeletion(id, second.value());
    assertThat(attachments.beginDeletion(id, entry).replacedAnother()).isFalse();
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
    assertThat(next.isOfOtherProgram()).isFalse();
    assertThat(next.mayDiscard()).isTrue();
    assertThat(slow.mayDiscard()).isFalse();
    assertAborted(slow::requireNotReplaced);
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
    assertThat(attempt.isOfOtherProgram()).isTrue();
    Attempt second = begin();
    assertThat(second.isOfOtherProgram()).as("also after an attempt that failed").isTrue();
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

  // Publishing

  /** The publish is given up, the CO unpublishes, and then the write arrives. */
  @Test
  void aPublishThatIsCarriedOutAfterTheUnpublishIsRefused() {
    JournalEntry entry = reserve(volumes(), "pvc");
    AttachmentJournal attachments = new AttachmentJournal("default", pool);
    VolumeId id = new VolumeId("test-cluster", pool.poolId(), entry.uuid());
    attachments.detach(id, entry, "node-1");
    assertThatThrownBy(() -> attach(entry)).isInstanceOf(CephException.Canceled.class);
    JournalEntry now = volumes().byUuid(entry.uuid()).orElseThrow();
    attach(now);
    attachments.detach(id, now, "node-1");
    now = volumes().byUuid(entry.uuid()).orElseThrow();
    assertThat(AttachmentJournal.nodes(now)).isEmpty();
  }

  private void attach(JournalEntry read) {
    String generation = read.attributes().getOrDefault(AttachmentJournal.GENERATION, "");
    try (WriteOperation write = new WriteOperation()) {
      write
          .assertExists()
          .omapCompare(AttachmentJournal.GENERATION, generation.getBytes(UTF_8))
          .omapSet(AttachmentJournal.GENERATION, "another".getBytes(UTF_8))
          .omapSet(Map.of(AttachmentJournal.key("node-1"), "{}".getBytes(UTF_8)));
      pool.operate("csi.volume." + read.uuid(), write);
    }
  }
}
