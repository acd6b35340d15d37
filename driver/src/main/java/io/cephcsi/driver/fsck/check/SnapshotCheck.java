package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.SNAPSHOT_GONE;
import static io.cephcsi.driver.fsck.FindingKind.SNAPSHOT_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.TRASH_SNAPSHOT_WITHOUT_CLONE;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Checks the snapshots of an image. Safe for several threads. */
final class SnapshotCheck {
  private final PoolCheckContext context;
  private final CloneCheck clones;

  SnapshotCheck(PoolCheckContext context, CloneCheck clones) {
    this.context = context;
    this.clones = clones;
  }

  /** What the first pass noted of an entry: that it has recorded an image. */
  static StoredEntry noted(PoolLists.Claim claim, String id) {
    return new StoredEntry(
        claim.kind(), claim.uuid(), Map.of("csi.imageid", id), Optional.empty(), Instant.MIN, 0);
  }

  void look(
      String id,
      String name,
      ImageCondition image,
      Optional<StoredEntry> claim,
      List<Finding> findings) {
    boolean isOfSnapshot = claim.filter(entry -> entry.kind() == JournalKind.SNAPSHOT).isPresent();
    if (image.snapshotIds().isEmpty() && !isOfSnapshot) {
      return;
    }
    List<HeaderSnapshot> snapshots;
    try {
      context.workers().turn();
      snapshots = ImageHeader.snapshots(context.io(), id, image.snapshotIds());
    } catch (CephException.NotFound e) {
      return; // one was removed just now: the next look sees what is left
    }
    boolean hasOwn = false;
    for (HeaderSnapshot snapshot : snapshots) {
      if (snapshot.namespace() == SnapshotNamespace.TRASH) {
        addTrash(id, name, snapshot, findings);
      } else if (snapshot.namespace() == SnapshotNamespace.USER) {
        hasOwn |= snapshot.name().equals(name);
        addUser(id, name, snapshot, findings);
        clones.ofParent(id, snapshot.id(), children(id, snapshot), findings);
      }
    }
    if (isOfSnapshot && !hasOwn) {
      StoredEntry entry = claim.orElseThrow();
      findings.add(
          Finding.of(
              SNAPSHOT_GONE,
              context.place(),
              entry.kind().object(entry.uuid()),
              "image " + name + " has no snapshot of its own name"));
    }
  }

  private void addTrash(String id, String name, HeaderSnapshot snapshot, List<Finding> findings) {
    List<ImageLink> children = children(id, snapshot);
    String object = name + "@" + snapshot.id();
    if (children.isEmpty()) {
      findings.add(
          Finding.of(TRASH_SNAPSHOT_WITHOUT_CLONE, context.place(), object, "image id " + id)
              .with(context.bytes(id, snapshot.id()))
              .with(
                  "rbd",
                  "snap",
                  "rm",
                  "--snap-id",
                  Long.toString(snapshot.id()),
                  context.path(name))
              .with(new ImageRepairs(context).removeTrashSnapshot(id, snapshot.id())));
    } else if (!clones.ofParent(id, snapshot.id(), children, findings)) {
      findings.add(
          Finding.of(
                  TRASH_SNAPSHOT_WITHOUT_CLONE,
                  context.place(),
                  object,
                  "image id " + id + ", its clones are gone, but the header still has them")
              .with(
                  context.rados(
                      "rmomapkey",
                      ImageHeader.object(id),
                      String.format("snap_children_%016x", snapshot.id()))));
    }
  }

  private List<ImageLink> children(String id, HeaderSnapshot snapshot) {
    context.workers().turn();
    return ImageHeader.children(context.io(), id, snapshot.id());
  }

  private void addUser(String id, String name, HeaderSnapshot snapshot, List<Finding> findings) {
    if (!ImageCheck.isOurs(snapshot.name())
        || snapshot.name().equals(name)
        || name.equals(ImageNames.temporary(snapshot.name()))) {
      return;
    }
    List<StoredEntry> claims = context.live().claims(snapshot.name());
    if (claims.stream().anyMatch(claim -> needs(claim))) {
      return;
    }
    findings.add(
        Finding.of(
                SNAPSHOT_WITHOUT_ENTRY,
                context.place(),
                name + "@" + snapshot.name(),
                claims.isEmpty()
                    ? "no entry has its name"
                    : "what it was taken for is complete without it")
            .with(context.bytes(id, snapshot.id()))
            .with("rbd", "snap", "rm", context.path(name + "@" + snapshot.name())));
  }

  /**
   * Whether an entry needs a snapshot of its name: it is a native one, on whatever image, or what
   * it is taken for is unfinished.
   */
  private static boolean needs(StoredEntry claim) {
    Optional<JournalEntry> entry = claim.entry();
    return entry.isEmpty()
        || !entry.get().isMade()
        || claim.isBeingDeleted()
        || entry.get().nativeSnapshot().isPresent();
  }
}
