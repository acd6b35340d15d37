package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageDirectory;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/**
 * Mends the journal. Each step is one compound write that asserts what the decision was made on; of
 * two steps the first one leaves what a repeated run finds again.
 */
final class EntryRepairs {
  private static final String GROUP_PREFIX = "csi-vol-group-";
  private static final List<String> PREFIXES = List.of("csi-vol-", "csi-snap-", GROUP_PREFIX);

  private final PoolCheckContext context;
  private final IoContext io;

  EntryRepairs(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
  }

  /** Removes a name without an entry, unless there is an image that the entry was of. */
  Repair removeName(StoredName name) {
    return () -> {
      StoredName.Target target = name.target().orElseThrow();
      if (target.poolId() != io.poolId()
          || StoredEntry.exists(io, name.kind(), target.uuid())
          || GroupHeader.id(io, GROUP_PREFIX + target.uuid()).isPresent()
          || isAnyImageOf(target.uuid())) {
        return Optional.empty();
      }
      return done(name.removeIfUnchanged(io), "removed the name");
    };
  }

  private boolean isAnyImageOf(UUID uuid) {
    return PREFIXES.stream().anyMatch(prefix -> isTaken(prefix + uuid)) || endsWith(uuid);
  }

  /** Images of classes with a prefix of their own; true if they cannot all be listed. */
  private boolean endsWith(UUID uuid) {
    Predicate<String> isOf =
        name -> name.endsWith(uuid.toString()) || name.endsWith(uuid + "-temp");
    AtomicBoolean found = new AtomicBoolean();
    boolean all =
        ImageDirectory.walk(
            io,
            (name, id) -> {
              if (isOf.test(name)) {
                found.set(true);
              }
            });
    return found.get()
        || !all
        || TrashDirectory.removing(io).stream().map(TrashEntry::name).anyMatch(isOf);
  }

  private boolean isTaken(String name) {
    return CloneSteps.leadsTo(new RbdPool(io), name).isPresent()
        || CloneSteps.leadsTo(new RbdPool(io), ImageNames.temporary(name)).isPresent();
  }

  /** Sets the name of an entry whose image or group is there; removes an entry that has nothing. */
  Repair setName(StoredEntry stored, JournalEntry entry) {
    return () -> {
      Optional<StoredEntry> now = StoredEntry.read(io, stored.kind(), stored.uuid());
      if (now.filter(n -> n.version() == stored.version()).isEmpty()) {
        return Optional.empty();
      }
      if (isThere(stored.kind(), entry)) {
        Set<String> instances = context.instances(stored.kind());
        if (instances.size() != 1) {
          return Optional.empty(); // which one made it, nothing says
        }
        return done(
            StoredName.set(
                io, stored.kind(), instances.iterator().next(), entry.requestName(), stored.uuid()),
            "set the name " + entry.requestName());
      }
      if (!context.settings().isRepairable(stored.changedAt()) || hasAnything(entry)) {
        return Optional.empty();
      }
      return done(stored.removeIfUnchanged(io), "removed the entry, which had no image");
    };
  }

  private boolean isThere(JournalKind kind, JournalEntry entry) {
    return kind == JournalKind.GROUP
        ? isGroup(entry)
        : entry
            .imageId()
            .filter(id -> ImageCondition.exists(io, id))
            .filter(id -> !TrashMark.isInTrash(io, id))
            .filter(id -> ImageId.find(new RbdPool(io), entry.name()).equals(Optional.of(id)))
            .isPresent();
  }

  /** Whether a group, or a snapshot of one, has members or is there. */
  private boolean isGroup(JournalEntry entry) {
    return !new GroupEntry(entry).values().isEmpty()
        || GroupHeader.id(io, entry.name()).isPresent();
  }

  /** Whether an entry may still lead to data, or to a key that its KMS is to forget. */
  private boolean hasAnything(JournalEntry entry) {
    return entry.isEncrypted()
        || !entry.name().endsWith(entry.uuid().toString())
        || entry.nativeImage().isPresent()
        || isTaken(entry.name())
        || entry
            .imageId()
            .filter(id -> ImageHeader.read(io, id).isPresent() || TrashMark.isInTrash(io, id))
            .isPresent();
  }

  /**
   * Whether an entry is a part that a group snapshot lists; one round trip, for a part only.
   * Without it the parts that have their images would look like a group snapshot that a caller has
   * got: what becomes of all parts, the repeated call decides, or the deletion of a volume.
   */
  boolean isPartOfGroup(StoredEntry stored, JournalEntry entry) {
    return stored.kind() == JournalKind.SNAPSHOT
        && entry
            .groupId()
            .flatMap(VolumeId::parse)
            .flatMap(id -> StoredEntry.read(io, JournalKind.GROUP, id.uuid()))
            .flatMap(StoredEntry::entry)
            .filter(group -> lists(new GroupEntry(group), stored.uuid()))
            .isPresent();
  }

  private static boolean lists(GroupEntry group, UUID part) {
    return group.snapshots().stream().map(VolumeId::uuid).anyMatch(part::equals);
  }

  /** Undoes a reservation whose image was not made. */
  Repair undoCreation(StoredEntry stored, JournalEntry entry) {
    return () -> {
      if (stored.kind() == JournalKind.GROUP
          || !context.settings().isRepairable(stored.changedAt())
          || entry.journalPoolId().stream().anyMatch(pool -> pool != io.poolId())
          || isPartOfGroup(stored, entry)
          || hasAnything(entry)) {
        return Optional.empty();
      }
      for (String instance : context.instances(stored.kind())) {
        Journal journal = new Journal(stored.kind(), instance, io, io);
        if (journal.isReserved(entry)) {
          Optional<Attempt> attempt = journal.resume(entry.requestName());
          if (attempt.isEmpty()
              || attempt.get().entry().isMade()
              || isTaken(entry.name())) { // since nobody else can record what it makes
            return Optional.empty();
          }
          attempt.get().undo(() -> {});
          return Optional.of("undid the reservation of " + entry.requestName());
        }
      }
      return done(stored.removeIfUnchanged(io), "removed the entry, which had no name");
    };
  }

  /** Removes an entry whose deletion came as far as its image. */
  Repair endDeletion(StoredEntry stored) {
    return () -> {
      Optional<JournalEntry> entry = stored.entry();
      if (entry.isEmpty()
          || stored.kind() == JournalKind.GROUP
          || !context.settings().isRepairable(stored.changedAt())
          || entry.get().journalPoolId().stream().anyMatch(pool -> pool != io.poolId())
          || hasAnything(entry.get())) {
        return Optional.empty();
      }
      for (String instance : context.instances(stored.kind())) {
        new Journal(stored.kind(), instance, io, io).freeName(entry.get());
      }
      return done(stored.removeIfUnchanged(io), "removed the entry of the deleted image");
    };
  }

  /** Records the image that has the name, as the next call would do. */
  Repair recordImage(StoredEntry stored, JournalEntry entry, String imageId) {
    return () -> {
      String recorded = entry.imageId().orElseThrow();
      if (ImageHeader.read(io, recorded).isPresent()
          || TrashMark.isInTrash(io, recorded)
          || !entry.name().endsWith(entry.uuid().toString())
          || !ImageId.find(new RbdPool(io), entry.name()).equals(Optional.of(imageId))
          || !ImageCondition.exists(io, imageId)
          || context.lists().claimOf(imageId).isPresent()) {
        return Optional.empty();
      }
      Attempt.replaceImageId(new Journal(stored.kind(), "default", io, io), entry, imageId);
      return Optional.of("recorded the image id " + imageId);
    };
  }

  static Optional<String> done(boolean isDone, String what) {
    return isDone ? Optional.of(what) : Optional.empty();
  }
}
