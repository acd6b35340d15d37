package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.RETAINED_WITHOUT_SNAPSHOT;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.TRACKER_WRONG;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.fsck.ShallowVolume;
import io.cephcsi.driver.fsck.TrackerCheck;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.TrackerFormatException;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Checks what a file system has of CephFS volumes: its journal and trackers, and the subvolumes and
 * snapshots as the file system itself has them. It only reads.
 */
public final class FileSystemCheck {
  private final CheckSettings settings;
  private final Workers workers;
  private final CheckProgress progress;
  private final Set<String> instances;
  private final String group;
  private final Map<UUID, Long> sizes;

  /**
   * @param settings how it is carried out
   * @param workers the threads
   * @param progress tells how far it is
   * @param instances of drivers; those with a directory are found
   * @param group the group of the subvolumes
   * @param sizes that volumes should have at least, in bytes, as far as they are known
   */
  public FileSystemCheck(
      CheckSettings settings,
      Workers workers,
      CheckProgress progress,
      Set<String> instances,
      String group,
      Map<UUID, Long> sizes) {
    this.settings = settings;
    this.workers = workers;
    this.progress = progress;
    this.instances = Set.copyOf(instances);
    this.group = group;
    this.sizes = Map.copyOf(sizes);
  }

  /** What a check found. */
  public record Result(List<Finding> findings, long volumes, long subvolumes) {
    /** Copies the list. */
    public Result {
      findings = List.copyOf(findings);
    }
  }

  /**
   * Checks a file system.
   *
   * @param metadata the pool and namespace of the journal and the trackers
   * @param mend gets the result while repairs can still be carried out
   */
  public void check(
      RadosCluster cluster, FileSystemInfo info, IoContext metadata, Consumer<Result> mend) {
    PoolLists lists = PoolLists.read(metadata, false, progress);
    Set<ShallowVolume> shallow = ConcurrentHashMap.newKeySet();
    Set<UUID> tracked =
        new Trackers()
            .in(metadata).snapshotIds().stream()
                .flatMap(id -> VolumeId.parse(id).stream())
                .map(VolumeId::uuid)
                .collect(Collectors.toSet());
    try (Subvolumes subvolumes = Subvolumes.mount(cluster, info.name(), group)) {
      PoolCheckContext context =
          new RbdCheck(settings, workers, progress, instances)
              .context(
                  metadata,
                  lists,
                  of -> new SubvolumeContent(of, subvolumes, info, group, sizes, shallow, tracked));
      new NameCheck(context).all();
      new EntryCheck(context).all();
      List<String> names = subvolumes.names();
      checkSubvolumes(context, subvolumes, info.name(), names);
      checkTrackers(context, subvolumes, shallow);
      mend.accept(
          new Result(context.confirm(), lists.entries(JournalKind.VOLUME).size(), names.size()));
    }
  }

  private void checkSubvolumes(
      PoolCheckContext context, Subvolumes subvolumes, String fileSystem, List<String> names) {
    progress.begin("checking subvolumes of " + fileSystem, names.size());
    workers.each(
        names.iterator(),
        name -> {
          context
              .suspicions()
              .suspect(
                  fileSystem,
                  "subvolume " + name,
                  () -> look(context.lists(), subvolumes, fileSystem, name),
                  () -> look(context.live(), subvolumes, fileSystem, name));
          progress.step();
        });
  }

  private List<Finding> look(Facts facts, Subvolumes subvolumes, String fileSystem, String name) {
    List<Finding> findings = new ArrayList<>();
    if (!subvolumes.exists(name)) {
      return findings;
    }
    workers.turn();
    List<String> snapshots = subvolumes.snapshots(name);
    if (ImageCheck.isOurs(name) && !facts.isClaimed(name)) {
      Optional<Subvolumes.Recorded> recorded = subvolumes.find(name);
      if (!recorded.filter(Subvolumes.Recorded::isRetained).isPresent()) {
        findings.add(unclaimed(fileSystem, name, recorded).with(subvolumes.bytes(name)));
      } else if (snapshots.isEmpty()) {
        findings.add(
            Finding.of(RETAINED_WITHOUT_SNAPSHOT, fileSystem, name, "")
                .with("ceph", "fs", "subvolume", "rm", fileSystem, name, "--group_name", group));
      }
    }
    for (String snapshot : snapshots) {
      if (ImageCheck.isOurs(snapshot) && !facts.isClaimed(snapshot)) {
        findings.add(
            Finding.of(SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY, fileSystem, name + "@" + snapshot, "")
                .with(subvolumes.bytes(name, snapshot))
                .with(
                    "ceph",
                    "fs",
                    "subvolume",
                    "snapshot",
                    "rm",
                    fileSystem,
                    name,
                    snapshot,
                    "--group_name",
                    group));
      }
    }
    return findings;
  }

  private Finding unclaimed(
      String fileSystem, String name, Optional<Subvolumes.Recorded> recorded) {
    Optional<String> copying =
        recorded.map(Subvolumes.Recorded::state).filter(state -> !state.equals("complete"));
    Finding finding =
        Finding.of(
            SUBVOLUME_WITHOUT_ENTRY,
            fileSystem,
            name,
            copying.map(state -> "a copy whose state is " + state).orElse(""));
    return copying
            .filter(state -> state.equals("pending") || state.equals("in-progress"))
            .isPresent()
        ? finding.with("ceph", "fs", "clone", "cancel", fileSystem, name, "--group_name", group)
        : finding.with("ceph", "fs", "subvolume", "rm", fileSystem, name, "--group_name", group);
  }

  private void checkTrackers(
      PoolCheckContext context, Subvolumes subvolumes, Collection<ShallowVolume> shallow) {
    IoContext io = context.io();
    TrackerCheck check =
        new TrackerCheck(
            new Trackers().in(io),
            entries(JournalKind.SNAPSHOT, io),
            entry -> isNamed(context, entry),
            entries(JournalKind.VOLUME, io),
            subvolumes);
    List<String> ids = List.copyOf(check.snapshotIds(shallow));
    progress.begin("checking trackers of " + context.place(), ids.size());
    workers.each(
        ids.iterator(),
        id -> {
          context
              .suspicions()
              .suspect(
                  context.place(),
                  "tracker of " + id,
                  () -> tracker(context, check, id, shallow),
                  () ->
                      tracker(context, check, id, still(context, id, shallow)).stream()
                          .map(found -> found.with(addReferences(context, subvolumes, id, shallow)))
                          .toList());
          progress.step();
        });
  }

  /** A journal whose entries are read by their uuid: they are the same for all instances. */
  private static Journal entries(JournalKind kind, IoContext io) {
    return new Journal(kind, "default", io, io);
  }

  /** Whether a name of any instance leads to the entry of a snapshot. */
  private static boolean isNamed(PoolCheckContext context, JournalEntry snapshot) {
    return !context.live().names(JournalKind.SNAPSHOT, snapshot).isEmpty();
  }

  /** Those of the volumes that show a snapshot which are still there. */
  private List<ShallowVolume> still(
      PoolCheckContext context, String id, Collection<ShallowVolume> shallow) {
    return shallow.stream()
        .filter(volume -> volume.backingSnapshot().equals(id))
        .filter(
            volume ->
                context.live().claims(volume.name()).stream()
                    .map(StoredEntry::entry)
                    .flatMap(Optional::stream)
                    .map(JournalEntry::backingSnapshot)
                    .anyMatch(Optional.of(id)::equals))
        .toList();
  }

  private List<Finding> tracker(
      PoolCheckContext context, TrackerCheck check, String id, Collection<ShallowVolume> shallow) {
    workers.turn();
    List<String> problems = check.check(id, shallow).problems();
    return problems.isEmpty()
        ? List.of()
        : List.of(Finding.of(TRACKER_WRONG, context.place(), id, String.join("; ", problems)));
  }

  /**
   * Adds references that are missing: without them a snapshot may be deleted that is in use. None
   * is removed, as with the last one its snapshot would have to go.
   */
  private Repair addReferences(
      PoolCheckContext context,
      Subvolumes subvolumes,
      String id,
      Collection<ShallowVolume> shallow) {
    return () -> {
      IoContext io = context.io();
      ReferenceTracker trackers = new Trackers().in(io);
      Journal snapshots = entries(JournalKind.SNAPSHOT, io);
      Optional<JournalEntry> snapshot =
          VolumeId.parse(id).flatMap(parsed -> snapshots.byUuid(parsed.uuid()));
      if (snapshot.filter(subvolumes::exists).isEmpty()) {
        return Optional.empty(); // there is nothing to protect
      }
      Optional<TrackerState> tracker;
      try {
        tracker = trackers.read(id);
      } catch (TrackerFormatException e) {
        return Optional.empty();
      }
      List<String> keys = new ArrayList<>();
      still(context, id, shallow).forEach(volume -> keys.add(volume.name()));
      if (!snapshot.get().isDeleted() && isNamed(context, snapshot.get())) {
        keys.add(id);
      }
      keys.removeIf(
          key ->
              tracker.filter(state -> state.reference(key) != ReferenceState.ABSENT).isPresent());
      if (keys.isEmpty()) {
        return Optional.empty();
      }
      trackers.add(id, keys);
      return Optional.of("added the references " + String.join(", ", keys));
    };
  }
}
