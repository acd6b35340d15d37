package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.DELETION_UNFINISHED;
import static io.cephcsi.driver.fsck.FindingKind.GROUP_MEMBER_GONE;
import static io.cephcsi.driver.fsck.FindingKind.QUOTA_MISSING;
import static io.cephcsi.driver.fsck.FindingKind.QUOTA_SMALLER;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_GONE;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_SNAPSHOT_GONE;

import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.fsck.ShallowVolume;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.TrackerFormatException;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** What an entry stands for in a file system. Safe for several threads. */
final class SubvolumeContent implements EntryContent {
  private final PoolCheckContext context;
  private final SubvolumeGroups groups;
  private final FileSystemInfo fileSystem;
  private final Map<UUID, Long> sizes;
  private final Collection<ShallowVolume> shallow;
  private final Set<UUID> tracked;

  /**
   * @param sizes that volumes should have, in bytes, as far as they are known
   * @param shallow gets the shallow volumes that are met; safe for several threads
   * @param tracked the snapshots that have a reference tracker
   */
  SubvolumeContent(
      PoolCheckContext context,
      SubvolumeGroups groups,
      FileSystemInfo fileSystem,
      Map<UUID, Long> sizes,
      Collection<ShallowVolume> shallow,
      Set<UUID> tracked) {
    this.context = context;
    this.groups = groups;
    this.fileSystem = fileSystem;
    this.sizes = sizes;
    this.shallow = shallow;
    this.tracked = Set.copyOf(tracked);
  }

  /** The journal does not record when a subvolume is made. */
  @Override
  public boolean isFinished(StoredEntry stored, JournalEntry entry) {
    return true;
  }

  @Override
  public void look(Facts facts, StoredEntry stored, JournalEntry entry, List<Finding> findings) {
    boolean isOld = context.settings().isOld(stored.changedAt());
    String object = stored.kind().object(stored.uuid());
    if (stored.kind() == JournalKind.GROUP) {
      addGroup(entry, object, isOld, findings);
    } else if (entry.backingSnapshot().isPresent()) {
      shallow.add(new ShallowVolume(entry.name(), entry.backingSnapshot().get()));
    } else if (stored.kind() == JournalKind.SNAPSHOT) {
      if (isOld) {
        addSnapshot(entry, object, findings);
      }
    } else {
      addVolume(entry, object, isOld, findings);
    }
  }

  private void addSnapshot(JournalEntry entry, String object, List<Finding> findings) {
    context.workers().turn();
    String whose = EntryCheck.describe(entry) + ", of subvolume " + entry.source().orElse("");
    if (entry.isDeleted() && !tracked.contains(entry.uuid())) { // nor does it get one any more
      findings.add(
          Finding.of(
              DELETION_UNFINISHED,
              context.place(),
              object,
              whose + ": it was kept for shallow volumes, and none shows it any more"));
    } else if (!groups.has(entry) && groups.canTell(object)) {
      findings.add(Finding.of(SUBVOLUME_SNAPSHOT_GONE, context.place(), object, whose));
    }
  }

  private void addVolume(JournalEntry entry, String object, boolean isOld, List<Finding> findings) {
    context.workers().turn();
    Optional<InGroup> found = find(entry.name());
    if (found.isEmpty()) {
      if (isOld && groups.canTell(object)) {
        findings.add(
            Finding.of(SUBVOLUME_GONE, context.place(), object, EntryCheck.describe(entry)));
      }
      return;
    }
    Subvolumes group = found.get().group;
    Optional<String> path = found.get().recorded.path();
    if (isOld
        && found.get().recorded.state().equals("complete")
        && path.isPresent()
        && group.exists(entry.name())) {
      long quota = group.quota(path.get()).orElse(0);
      addQuota(entry, object, group.group(), quota, findings);
    }
  }

  /** A subvolume with its data, and the group that it is in. */
  private record InGroup(Subvolumes group, Subvolumes.Recorded recorded) {}

  private Optional<InGroup> find(String subvolume) {
    return groups.find(
        group ->
            group
                .find(subvolume)
                .filter(recorded -> !recorded.isRetained())
                .map(recorded -> new InGroup(group, recorded)));
  }

  private void addQuota(
      JournalEntry entry, String object, String group, long quota, List<Finding> findings) {
    long size = sizes.getOrDefault(entry.uuid(), 0L);
    if (quota != 0 && quota >= size) {
      return;
    }
    Finding finding =
        quota == 0
            ? Finding.of(QUOTA_MISSING, context.place(), object, EntryCheck.describe(entry))
            : Finding.of(
                QUOTA_SMALLER,
                context.place(),
                object,
                EntryCheck.describe(entry) + ", " + quota + " bytes instead of " + size);
    findings.add(
        size == 0
            ? finding
            : finding.with(
                "ceph",
                "fs",
                "subvolume",
                "resize",
                fileSystem.name(),
                entry.name(),
                Long.toString(size),
                "--group_name",
                group));
  }

  private void addGroup(
      JournalEntry journal, String object, boolean isOld, List<Finding> findings) {
    Set<String> gone = new TreeSet<>();
    for (VolumeId snapshot : new GroupEntry(journal).snapshots()) {
      if (snapshot.location() == fileSystem.id()
          && !context.live().hasEntry(JournalKind.SNAPSHOT, snapshot.uuid())) {
        gone.add(snapshot.toString());
      }
    }
    if (isOld && !gone.isEmpty()) {
      findings.add(
          Finding.of(
              GROUP_MEMBER_GONE,
              context.place(),
              object,
              "name " + journal.requestName() + ", members " + gone));
    }
  }

  @Override
  public Optional<Repair> removeName(StoredName name) {
    return Optional.of(
        () -> {
          String end = name.target().map(target -> target.uuid().toString()).orElse("");
          return end.isEmpty()
                  || context.live().hasEntry(name.kind(), name.target().orElseThrow().uuid())
                  || groups.find(group -> nameWith(end, name.kind(), group)).isPresent()
                  || !groups.canTell(name.requestName())
              ? Optional.empty()
              : EntryRepairs.done(name.removeIfUnchanged(context.io()), "removed the name");
        });
  }

  /** A subvolume of a group, or a snapshot of one, whose name ends with a uuid. */
  private static Optional<String> nameWith(String end, JournalKind kind, Subvolumes group) {
    return group.names().stream()
        .filter(
            subvolume ->
                subvolume.endsWith(end)
                    || (kind == JournalKind.SNAPSHOT
                        && group.snapshots(subvolume).stream()
                            .anyMatch(snapshot -> snapshot.endsWith(end))))
        .findFirst();
  }

  @Override
  public Optional<Repair> setName(StoredEntry stored, JournalEntry entry) {
    return Optional.of(
        () -> {
          Set<String> instances = context.instances(stored.kind());
          boolean isThere = isThere(stored.kind(), entry);
          boolean isSame =
              StoredEntry.read(context.io(), stored.kind(), stored.uuid())
                  .filter(now -> now.version() == stored.version())
                  .isPresent();
          return isThere && isSame && instances.size() == 1
              ? EntryRepairs.done(
                  StoredName.set(
                      context.io(),
                      stored.kind(),
                      instances.iterator().next(),
                      entry.requestName(),
                      stored.uuid()),
                  "set the name " + entry.requestName())
              : Optional.empty();
        });
  }

  private boolean isThere(JournalKind kind, JournalEntry entry) {
    if (kind == JournalKind.SNAPSHOT) {
      return groups.has(entry);
    }
    if (entry.backingSnapshot().isPresent()) {
      return isReferenced(entry.backingSnapshot().get(), entry.name());
    }
    return kind == JournalKind.VOLUME && find(entry.name()).isPresent();
  }

  /** Whether the tracker of a snapshot says that a shallow volume shows it. */
  private boolean isReferenced(String snapshotId, String volume) {
    try {
      return new Trackers()
          .in(context.io())
          .read(snapshotId)
          .filter(tracker -> tracker.reference(volume) == ReferenceState.NORMAL)
          .isPresent();
    } catch (TrackerFormatException e) {
      return false; // on doubt nothing is done
    }
  }

  @Override
  public Optional<Repair> undoCreation(StoredEntry stored, JournalEntry entry) {
    return Optional.empty();
  }

  @Override
  public Optional<Repair> endDeletion(StoredEntry stored) {
    return Optional.empty();
  }
}
