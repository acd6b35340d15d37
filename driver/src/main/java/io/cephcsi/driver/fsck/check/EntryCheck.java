package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.ATTACHED_TO_GONE_NODE;
import static io.cephcsi.driver.fsck.FindingKind.CREATION_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.DELETION_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.ENTRY_DAMAGED;
import static io.cephcsi.driver.fsck.FindingKind.ENTRY_INCOMPLETE;
import static io.cephcsi.driver.fsck.FindingKind.ENTRY_OF_TWO_INSTANCES;
import static io.cephcsi.driver.fsck.FindingKind.ENTRY_WITHOUT_NAME;
import static io.cephcsi.driver.fsck.FindingKind.IMAGE_OF_TWO_ENTRIES;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/** Checks the entries of volumes, snapshots and groups. Safe for several threads. */
final class EntryCheck {
  private static final Duration NODE_GONE = Duration.ofDays(1);

  private final PoolCheckContext context;
  private final IoContext io;

  EntryCheck(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
  }

  /** Checks all entries of the lists; a round trip for each. */
  void all() {
    for (JournalKind kind : JournalKind.values()) {
      context
          .progress()
          .begin(
              "checking entries of " + context.place() + " (" + kind + ")",
              context.lists().entries(kind).size());
      context
          .workers()
          .each(
              context.lists().entries(kind).iterator(),
              uuid -> {
                context
                    .suspicions()
                    .suspect(
                        context.place(),
                        kind.object(uuid),
                        () -> first(kind, uuid),
                        () -> look(context.live(), kind, uuid));
                context.progress().step();
              });
    }
  }

  /** The first look also notes which images are claimed. */
  private List<Finding> first(JournalKind kind, UUID uuid) {
    context.workers().turn();
    Optional<StoredEntry> stored = StoredEntry.read(io, kind, uuid);
    Optional<JournalEntry> entry = stored.flatMap(StoredEntry::entry);
    if (entry.isPresent() && kind != JournalKind.GROUP) {
      context
          .lists()
          .claim(kind, entry.get())
          .ifPresent(
              other ->
                  context
                      .suspicions()
                      .add(
                          context.place(),
                          kind.object(uuid),
                          () -> ofOneImage(other, new PoolLists.Claim(kind, uuid))));
    }
    entry.ifPresent(
        found ->
            context.lists().names(kind, found).stream()
                .filter(name -> !name.requestName().equals(found.requestName()))
                .forEach(name -> new NameCheck(context).suspect(name)));
    return stored.map(s -> look(context.lists(), s)).orElse(List.of());
  }

  private List<Finding> look(Facts facts, JournalKind kind, UUID uuid) {
    context.workers().turn();
    return StoredEntry.read(io, kind, uuid).map(stored -> look(facts, stored)).orElse(List.of());
  }

  private List<Finding> look(Facts facts, StoredEntry stored) {
    String object = stored.kind().object(stored.uuid());
    if (stored.damage().isPresent()) {
      return List.of(finding(ENTRY_DAMAGED, object, stored.damage().get()));
    }
    Optional<JournalEntry> entry = stored.entry();
    if (entry.isEmpty()) {
      return context.settings().isOld(stored.changedAt())
          ? List.of(
              finding(
                  ENTRY_INCOMPLETE,
                  object,
                  "it has the keys " + stored.attributes().keySet().stream().sorted().toList()))
          : List.of();
    }
    List<Finding> findings = new ArrayList<>();
    if (stored.isBeingDeleted()) {
      if (context.settings().isOld(stored.changedAt())) {
        findings.add(
            finding(
                    DELETION_UNFINISHED,
                    object,
                    describe(entry.get())
                        + ", since "
                        + stored.changedAt()
                        + key(stored, entry.get()))
                .with(context.content().endDeletion(stored)));
      }
      return findings;
    }
    boolean isFinished = context.content().isFinished(stored, entry.get());
    if (isFinished || context.settings().isOld(stored.changedAt())) {
      addNames(facts, stored, entry.get(), findings);
    }
    if (!isFinished) {
      if (context.settings().isOld(stored.changedAt())) {
        findings.add(
            finding(
                    CREATION_UNFINISHED,
                    object,
                    describe(entry.get())
                        + partOf(entry.get())
                        + ", since "
                        + stored.changedAt()
                        + key(stored, entry.get()))
                .with(context.content().undoCreation(stored, entry.get())));
      }
    } else {
      context.content().look(facts, stored, entry.get(), findings);
      addAttachments(entry.get(), object, findings);
    }
    return findings;
  }

  private Finding finding(FindingKind kind, String object, String detail) {
    return Finding.of(kind, context.place(), object, detail);
  }

  static String describe(JournalEntry entry) {
    return "name " + entry.requestName() + ", on the cluster " + entry.name();
  }

  private static String partOf(JournalEntry entry) {
    return entry.groupId().map(group -> ", part of group snapshot " + group).orElse("");
  }

  /** What an entry without an image may still be needed for. */
  private static String key(StoredEntry stored, JournalEntry entry) {
    if (!entry.isEncrypted()) {
      return "";
    }
    return stored.kind() == JournalKind.SNAPSHOT
        ? "; repeat DeleteSnapshot, so that its KMS forgets the key"
        : "; repeat DeleteVolume, so that its KMS forgets the key";
  }

  private void addNames(
      Facts facts, StoredEntry stored, JournalEntry entry, List<Finding> findings) {
    if (entry.isDeleted()) {
      return; // the name of a deleted snapshot that is kept for others is free
    }
    OptionalLong journalPool = entry.journalPoolId();
    String object = stored.kind().object(stored.uuid());
    List<StoredName> names;
    boolean isHere = journalPool.isEmpty() || journalPool.getAsLong() == io.poolId();
    if (isHere) {
      names =
          facts.names(stored.kind(), entry).stream()
              .filter(name -> name.requestName().equals(entry.requestName()))
              .toList();
    } else {
      try (IoContext directory = io.cluster().openPool(journalPool.getAsLong(), io.namespace())) {
        names = context.live().namesIn(directory, stored.kind(), entry);
      } catch (CephException.NotFound e) {
        names = List.of();
      } catch (CephException.Denied e) {
        return; // nobody can say
      }
    }
    if (names.isEmpty()) {
      Finding finding = finding(ENTRY_WITHOUT_NAME, object, describe(entry));
      findings.add(isHere ? finding.with(context.content().setName(stored, entry)) : finding);
    } else if (names.size() > 1) {
      findings.add(
          finding(
              ENTRY_OF_TWO_INSTANCES,
              object,
              describe(entry)
                  + ", instances "
                  + names.stream().map(StoredName::instanceId).sorted().toList()));
    }
  }

  private void addAttachments(JournalEntry entry, String object, List<Finding> findings) {
    if (context.nodes().isEmpty()) {
      return; // nodes do not register here
    }
    Instant gone = Instant.now().minus(NODE_GONE);
    AttachmentJournal.nodes(entry).stream()
        .filter(node -> context.nodes().getOrDefault(node, Instant.MIN).isBefore(gone))
        .sorted()
        .findFirst()
        .ifPresent(
            node ->
                findings.add(
                    finding(ATTACHED_TO_GONE_NODE, object, describe(entry) + ", node " + node)));
  }

  /** Two entries that have recorded one image. */
  private List<Finding> ofOneImage(PoolLists.Claim one, PoolLists.Claim two) {
    Optional<String> first = imageOf(one);
    return first.isPresent() && first.equals(imageOf(two))
        ? List.of(
            finding(
                IMAGE_OF_TWO_ENTRIES,
                first.get(),
                "entries "
                    + List.of(one.kind().object(one.uuid()), two.kind().object(two.uuid())).stream()
                        .sorted()
                        .toList()))
        : List.of();
  }

  private Optional<String> imageOf(PoolLists.Claim claim) {
    context.workers().turn();
    return StoredEntry.read(io, claim.kind(), claim.uuid())
        .flatMap(StoredEntry::entry)
        .flatMap(JournalEntry::imageId);
  }
}
