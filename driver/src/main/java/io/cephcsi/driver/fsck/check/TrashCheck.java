package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.MOVE_TO_TRASH_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.TRASH_ENTRY_DAMAGED;
import static io.cephcsi.driver.fsck.FindingKind.TRASH_REMOVABLE;
import static io.cephcsi.driver.fsck.FindingKind.TRASH_UNPROVEN;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Checks the trash of a pool. Safe for several threads. */
final class TrashCheck {
  private final PoolCheckContext context;
  private final IoContext io;
  private final CloneCheck clones;

  TrashCheck(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
    this.clones = new CloneCheck(context);
  }

  /** Checks all images in the trash; some round trips for each. */
  void all() {
    List<String> ids = new ArrayList<>(context.lists().trash());
    context.progress().begin("checking the trash of " + context.place(), ids.size());
    context
        .workers()
        .each(
            ids.iterator(),
            id -> {
              context
                  .suspicions()
                  .suspect(
                      context.place(),
                      "image id " + id,
                      () -> look(context.lists(), id),
                      () -> look(context.live(), id));
              context.progress().step();
            });
  }

  private List<Finding> look(Facts facts, String id) {
    context.workers().turn();
    Optional<TrashEntry> found = TrashMark.entry(io, id);
    if (found.isEmpty()) {
      return context.live().isInTrash(id)
          ? List.of(
              Finding.of(
                      TRASH_ENTRY_DAMAGED, context.place(), "image id " + id, "it cannot be read")
                  .with(context.rados("rmomapkey", "rbd_trash", "id_" + id)))
          : List.of();
    }
    TrashEntry entry = found.get();
    if (!context.settings().isOld(entry.deletedAt())) {
      return List.of();
    }
    if (facts.nameInDirectory(id).filter(entry.name()::equals).isPresent()) {
      return List.of(
          finding(MOVE_TO_TRASH_UNFINISHED, entry, "since " + entry.deletedAt())
              .with(new ImageRepairs(context).completeMove(entry.name(), id)));
    }
    if (entry.deferredUntil().isAfter(Instant.now())) {
      return List.of();
    }
    context.workers().turn();
    Optional<ImageHeader> header = ImageHeader.read(io, id);
    if (header.isEmpty()) {
      return List.of(
          finding(TRASH_ENTRY_DAMAGED, entry, "it has no header")
              .with("rbd", "trash", "rm", context.path(id)));
    }
    context.workers().turn();
    boolean proven = TrashMark.find(io, id).isPresent();
    List<Finding> ofClones = new ArrayList<>();
    if (hasClones(id, header.get(), ofClones)
        || (!proven && !ImageCheck.isOurs(entry.name()))
        || isNeeded(entry)) {
      return ofClones;
    }
    List<String> foreign = new ArrayList<>();
    if (!looksAtSnapshots(entry, header.get(), foreign)) {
      return List.of(); // CSI snapshots are on it
    }
    if (proven && foreign.isEmpty()) {
      return List.of(
          finding(TRASH_REMOVABLE, entry, "since " + entry.deletedAt())
              .with(context.bytes(id))
              .with("rbd", "trash", "rm", context.path(id))
              .with(new ImageRepairs(context).removeFromTrash(id, instance())));
    }
    return List.of(
        finding(
                TRASH_UNPROVEN,
                entry,
                "since "
                    + entry.deletedAt()
                    + (foreign.isEmpty()
                        ? ""
                        : ", with snapshots that no driver took: " + String.join(", ", foreign)))
            .with(context.bytes(id))
            .with("rbd", "trash", "rm", context.path(id)));
  }

  private String instance() {
    return context.instances(JournalKind.VOLUME).stream().sorted().findFirst().orElse("default");
  }

  private Finding finding(FindingKind kind, TrashEntry entry, String detail) {
    return Finding.of(
        kind, context.place(), entry.name(), "image id " + entry.id() + ", " + detail);
  }

  /** Whether an entry still has the image: the check of the entry says so. */
  private boolean isNeeded(TrashEntry image) {
    return !image.name().endsWith(ImageNames.temporary(""))
        && context.live().claims(image.name()).stream()
            .anyMatch(
                claim ->
                    claim
                        .entry()
                        .map(
                            entry ->
                                entry.imageId().isEmpty()
                                    || entry.imageId().equals(Optional.of(image.id())))
                        .orElse(true));
  }

  private boolean hasClones(String id, ImageHeader header, List<Finding> findings) {
    boolean found = false;
    for (long snapshot : header.snapshotIds()) {
      context.workers().turn();
      found |= clones.ofParent(id, snapshot, ImageHeader.children(io, id, snapshot), findings);
    }
    return found;
  }

  /** Whether no CSI snapshot is on it; notes the names of snapshots that are not a driver's. */
  private boolean looksAtSnapshots(TrashEntry image, ImageHeader header, List<String> foreign) {
    if (header.snapshotIds().isEmpty()) {
      return true;
    }
    context.workers().turn();
    for (HeaderSnapshot snapshot : ImageHeader.snapshots(io, image.id(), header.snapshotIds())) {
      if (snapshot.namespace() == SnapshotNamespace.TRASH
          || image.name().equals(snapshot.name())
          || image.name().equals(ImageNames.temporary(snapshot.name()))) {
        continue;
      }
      List<StoredEntry> claims = context.live().claims(snapshot.name());
      if (claims.isEmpty()) {
        foreign.add(snapshot.name());
      } else if (claims.stream()
          .map(StoredEntry::entry)
          .anyMatch(entry -> entry.flatMap(JournalEntry::nativeImage).isPresent())) {
        return false;
      }
    }
    return true;
  }
}
