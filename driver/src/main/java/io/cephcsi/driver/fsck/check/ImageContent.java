package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.IMAGE_GONE;
import static io.cephcsi.driver.fsck.FindingKind.IMAGE_ID_DIFFERS;
import static io.cephcsi.driver.fsck.FindingKind.IMAGE_IN_TRASH;
import static io.cephcsi.driver.fsck.FindingKind.IMAGE_RENAMED;
import static io.cephcsi.driver.fsck.FindingKind.SNAPSHOT_GONE;

import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.rbd.snapshot.NativeSnapshots;
import java.util.List;
import java.util.Optional;

/** What an entry stands for in a pool: an image, or a snapshot on one. Safe for several threads. */
final class ImageContent implements EntryContent {
  private final PoolCheckContext context;
  private final IoContext io;
  private final EntryRepairs repairs;

  ImageContent(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
    this.repairs = new EntryRepairs(context);
  }

  @Override
  public boolean isFinished(StoredEntry stored, JournalEntry entry) {
    return stored.kind() == JournalKind.GROUP || entry.isMade();
  }

  @Override
  public void look(Facts facts, StoredEntry stored, JournalEntry entry, List<Finding> findings) {
    if (stored.kind() == JournalKind.GROUP) {
      new GroupCheck(context).look(stored, entry, findings);
      return;
    }
    String object = stored.kind().object(stored.uuid());
    if (entry.nativeSnapshot().isPresent()) {
      addNative(entry, object, findings);
      return;
    }
    String id = entry.imageId().orElseThrow();
    String whose = EntryCheck.describe(entry) + ", image id " + id;
    if (!facts.hasHeader(id)) {
      findings.add(gone(stored, entry, id, whose));
    } else if (facts.isInTrash(id)) {
      findings.add(
          finding(IMAGE_IN_TRASH, object, whose).with("rbd", "trash", "restore", context.path(id)));
    } else {
      facts
          .nameInDirectory(id)
          .filter(name -> !name.equals(entry.name()))
          .ifPresent(
              name ->
                  findings.add(
                      finding(IMAGE_RENAMED, object, whose + ", its name is " + name)
                          .with("rbd", "rename", context.path(name), context.path(entry.name()))));
    }
  }

  private Finding gone(StoredEntry stored, JournalEntry entry, String id, String whose) {
    String object = stored.kind().object(stored.uuid());
    context.workers().turn();
    Optional<String> named =
        ImageId.find(new RbdPool(io), entry.name())
            .filter(other -> !other.equals(id))
            .filter(other -> ImageCondition.exists(io, other));
    return named
        .map(
            other ->
                finding(IMAGE_ID_DIFFERS, object, whose + ", its name leads to " + other)
                    .with(repairs.recordImage(stored, entry, other)))
        .orElseGet(() -> finding(IMAGE_GONE, object, whose));
  }

  private void addNative(JournalEntry entry, String object, List<Finding> findings) {
    context.workers().turn();
    String id = entry.nativeImage().orElse("");
    long snapshot = entry.nativeSnapshot().orElseThrow();
    boolean isThere =
        ImageCondition.read(io, id, ImageCheck.KEYS)
                .filter(image -> image.snapshotIds().contains(snapshot))
                .isPresent()
            || NativeSnapshots.find(io, entry).isPresent(); // on an image that replaced it
    if (!isThere) {
      findings.add(
          finding(
              SNAPSHOT_GONE,
              object,
              EntryCheck.describe(entry) + ", snapshot " + snapshot + " of image id " + id));
    }
  }

  private Finding finding(FindingKind kind, String object, String detail) {
    return Finding.of(kind, context.place(), object, detail);
  }

  @Override
  public Optional<Repair> removeName(StoredName name) {
    return Optional.of(repairs.removeName(name));
  }

  @Override
  public Optional<Repair> setName(StoredEntry stored, JournalEntry entry) {
    return Optional.of(repairs.setName(stored, entry));
  }

  @Override
  public Optional<Repair> undoCreation(StoredEntry stored, JournalEntry entry) {
    return repairs.isPartOfGroup(stored, entry)
        ? Optional.empty()
        : Optional.of(repairs.undoCreation(stored, entry));
  }

  @Override
  public Optional<Repair> endDeletion(StoredEntry stored) {
    return Optional.of(repairs.endDeletion(stored));
  }
}
