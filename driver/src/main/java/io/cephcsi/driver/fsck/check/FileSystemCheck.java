package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.RETAINED_WITHOUT_SNAPSHOT;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.SUBVOLUME_WITHOUT_ENTRY;
import static io.cephcsi.driver.fsck.FindingKind.TRACKER_WRONG;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.fsck.FindingKind;
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
  private final Place place;
  private final Map<UUID, Long> sizes;

  /**
   * @param settings how it is carried out
   * @param workers the threads
   * @param progress tells how far it is
   * @param instances of drivers; those with a directory are found
   * @param place what is checked
   * @param sizes that volumes should have at least, in bytes, as far as they are known
   */
  public FileSystemCheck(
      CheckSettings settings,
      Workers workers,
      CheckProgress progress,
      Set<String> instances,
      Place place,
      Map<UUID, Long> sizes) {
    this.settings = settings;
    this.workers = workers;
    this.progress = progress;
    this.instances = Set.copyOf(instances);
    this.place = place;
    this.sizes = Map.copyOf(sizes);
  }

  /**
   * A journal and the subvolumes that it is of.
   *
   * @param namespace of the journal and the trackers
   * @param groups the groups of the subvolumes; others may share the journal, and are not checked
   *     themselves
   * @param others the namespaces of journals that may share the groups: what these claim is theirs
   * @param allKnown whether no further journal may share them; what none has is not called
   *     removable otherwise
   */
  public record Place(String namespace, Set<String> groups, Set<String> others, boolean allKnown) {
    /** Copies the sets. */
    public Place {
      groups = Set.copyOf(groups);
      others = Set.copyOf(others);
    }
  }

  /**
   * What a check found.
   *
   * @param leftOut what could not be judged, and why; empty if all was
   */
  public record Result(
      List<Finding> findings, long volumes, long subvolumes, Optional<String> leftOut) {
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
    try (SubvolumeGroups all = SubvolumeGroups.mount(cluster, info.name(), place.groups())) {
      PoolCheckContext context =
          new RbdCheck(settings, workers, progress, instances)
              .context(
                  metadata,
                  lists,
                  of -> new SubvolumeContent(of, all, info, sizes, shallow, tracked));
      new NameCheck(context).all();
      new EntryCheck(context).all();
      long subvolumes = 0;
      for (Subvolumes group : all.checked()) {
        List<String> names = all.names(group);
        checkSubvolumes(context, all, group, info.name(), names);
        subvolumes += names.size();
      }
      checkTrackers(context, all, shallow);
      List<Finding> findings = context.confirm();
      mend.accept(
          new Result(
              findings, lists.entries(JournalKind.VOLUME).size(), subvolumes, all.leftOut()));
    }
  }

  private void checkSubvolumes(
      PoolCheckContext context,
      SubvolumeGroups all,
      Subvolumes subvolumes,
      String fileSystem,
      List<String> names) {
    progress.begin("checking subvolumes of " + fileSystem, names.size());
    workers.each(
        names.iterator(),
        name -> {
          context
              .suspicions()
              .suspect(
                  fileSystem,
                  "subvolume " + name,
                  () -> look(context, context.lists(), all, subvolumes, fileSystem, name),
                  () -> look(context, context.live(), all, subvolumes, fileSystem, name));
          progress.step();
        });
  }

  private List<Finding> look(
      PoolCheckContext context,
      Facts facts,
      SubvolumeGroups all,
      Subvolumes subvolumes,
      String fileSystem,
      String name) {
    List<Finding> findings = new ArrayList<>();
    if (!subvolumes.exists(name)) {
      return findings;
    }
    workers.turn();
    List<String> snapshots = subvolumes.snapshots(name);
    if (ImageCheck.isOurs(name)
        && !facts.isClaimed(name)
        && !isOfOthers(context, facts, all, name, "subvolume " + name)) {
      Optional<Subvolumes.Recorded> recorded = subvolumes.find(name);
      if (!recorded.filter(Subvolumes.Recorded::isRetained).isPresent()) {
        findings.add(
            unclaimed(fileSystem, subvolumes.group(), name, recorded).with(subvolumes.bytes(name)));
      } else if (snapshots.isEmpty()) {
        findings.add(
            Finding.of(RETAINED_WITHOUT_SNAPSHOT, fileSystem, name, "")
                .with(
                    "ceph",
                    "fs",
                    "subvolume",
                    "rm",
                    fileSystem,
                    name,
                    "--group_name",
                    subvolumes.group()));
      }
    }
    for (String snapshot : snapshots) {
      if (ImageCheck.isOurs(snapshot)
          && !facts.isClaimed(snapshot)
          && !isOfOthers(context, facts, all, snapshot, "snapshot " + name + "@" + snapshot)) {
        findings.add(
            unclaimed(
                    SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY,
                    fileSystem,
                    name + "@" + snapshot,
                    "",
                    "subvolume",
                    "snapshot",
                    "rm",
                    fileSystem,
                    name,
                    snapshot,
                    "--group_name",
                    subvolumes.group())
                .with(subvolumes.bytes(name, snapshot)));
      }
    }
    return findings;
  }

  /**
   * Whether the journal of another clusterID, which shares the group, gives out a name. Where the
   * user may not read one, nobody can say; what it may have is left out by the second look.
   */
  private boolean isOfOthers(
      PoolCheckContext context, Facts facts, SubvolumeGroups all, String name, String what) {
    IoContext io = context.io();
    for (String namespace : place.others()) {
      if (all.isReadable(namespace)) {
        try (IoContext other = io.cluster().openPool(io.poolId(), namespace)) {
          if (new LiveFacts(other, workers, Map.of()).isClaimed(name)) {
            return true;
          }
        } catch (CephException.Denied e) {
          all.unreadable(namespace, e);
        }
      }
    }
    return facts != context.lists() && !all.knowsOthers(what);
  }

  private Finding unclaimed(
      String fileSystem, String group, String name, Optional<Subvolumes.Recorded> recorded) {
    Optional<String> copying =
        recorded.map(Subvolumes.Recorded::state).filter(state -> !state.equals("complete"));
    boolean isCopied =
        copying.filter(state -> state.equals("pending") || state.equals("in-progress")).isPresent();
    return unclaimed(
        SUBVOLUME_WITHOUT_ENTRY,
        fileSystem,
        name,
        copying.map(state -> "a copy whose state is " + state).orElse(""),
        isCopied ? "clone" : "subvolume",
        isCopied ? "cancel" : "rm",
        fileSystem,
        name,
        "--group_name",
        group);
  }

  /**
   * A finding of what no journal has that was read.
   *
   * @param command of {@code ceph fs} that ends it
   */
  private Finding unclaimed(
      FindingKind kind, String fileSystem, String object, String detail, String... command) {
    if (!place.allKnown()) {
      return Finding.of(
          kind,
          fileSystem,
          object,
          (detail.isEmpty() ? "" : detail + "; ")
              + "only the journal in namespace \""
              + place.namespace()
              + "\" was read, and the one of another clusterID may have it: see --cluster");
    }
    List<String> words = new ArrayList<>(List.of("ceph", "fs"));
    words.addAll(List.of(command));
    return Finding.of(kind, fileSystem, object, detail).with(words.toArray(new String[0]));
  }

  private void checkTrackers(
      PoolCheckContext context, SubvolumeGroups all, Collection<ShallowVolume> shallow) {
    IoContext io = context.io();
    TrackerCheck check =
        new TrackerCheck(
            new Trackers().in(io),
            entries(JournalKind.SNAPSHOT, io),
            entry -> isNamed(context, entry),
            entries(JournalKind.VOLUME, io),
            snapshot -> all.has(snapshot) || !all.canTell("snapshot " + snapshot.name()));
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
                          .map(found -> found.with(addReferences(context, all, id, shallow)))
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
      PoolCheckContext context, SubvolumeGroups all, String id, Collection<ShallowVolume> shallow) {
    return () -> {
      IoContext io = context.io();
      ReferenceTracker trackers = new Trackers().in(io);
      Journal snapshots = entries(JournalKind.SNAPSHOT, io);
      Optional<JournalEntry> snapshot =
          VolumeId.parse(id).flatMap(parsed -> snapshots.byUuid(parsed.uuid()));
      if (snapshot.filter(all::has).isEmpty()) {
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
