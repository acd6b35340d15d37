package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.Suspicions;
import io.cephcsi.driver.fsck.check.MirrorCheck;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.TrackerFormatException;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Which volumes and snapshots Kubernetes knows, by {@code kubectl get -o json}, compared with the
 * journals of one cluster: each journal by itself, and then what none of them had.
 */
final class FsckExpectation {
  private static final Pattern QUANTITY =
      Pattern.compile("([0-9]{1,18}(?:\\.[0-9]{1,18})?)(|[KMGTPE]i|[kMGTPE])");

  private static final String IMAGE = "rbd_id.";

  private final Map<UUID, Known> known = new HashMap<>();
  private final Map<String, String> cephFsJournals;
  private final CheckSettings settings;
  private final Set<UUID> found = new HashSet<>();
  private final Map<UUID, String> images = new HashMap<>();
  private final Map<Place, String> places = new HashMap<>();
  private final Map<Long, FileSystemInfo> fileSystems = new HashMap<>();
  private final Set<CephFsJournal> read = new HashSet<>();
  private final Map<CephFsJournal, String> unreadable = new HashMap<>();

  /** A pool or file system by its id. */
  private record Place(Storage storage, long id) {}

  /** A journal of a file system. */
  private record CephFsJournal(long fileSystem, String namespace) {}

  /** What Kubernetes says; the storage is empty if that does not tell it. */
  private record Known(VolumeId id, JournalKind kind, Optional<Storage> storage, long bytes) {}

  private FsckExpectation(Map<String, String> cephFsJournals, CheckSettings settings) {
    this.cephFsJournals = cephFsJournals;
    this.settings = settings;
  }

  /**
   * Reads the file.
   *
   * @param cephFsJournals the clusterIDs of the cluster that is checked, each with the namespace of
   *     its CephFS journal; empty for any
   * @param settings what is young may be missing in the file
   * @throws ConfigException if it cannot be read
   */
  static FsckExpectation read(
      Path file, Map<String, String> cephFsJournals, CheckSettings settings) {
    FsckExpectation expected = new FsckExpectation(cephFsJournals, settings);
    try {
      JsonNode root = Json.mapper().readTree(Files.readAllBytes(file));
      ConfigException.require(
          root.path("items").isArray(),
          file + " is not the output of: kubectl get pv,volumesnapshotcontent -o json");
      root.path("items").forEach(expected::add);
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e.getMessage(), e);
    }
    return expected;
  }

  private void add(JsonNode item) {
    JsonNode spec = item.path("spec");
    switch (item.path("kind").asText()) {
      case "PersistentVolume" -> {
        JsonNode csi = spec.path("csi");
        Optional<Storage> storage =
            csi.path("volumeAttributes").has("fsName")
                ? Optional.of(Storage.CEPHFS)
                : storage(csi.path("driver").asText());
        long bytes = bytes(spec.path("capacity").path("storage").asText());
        put(csi.path("volumeHandle").asText(), JournalKind.VOLUME, storage, bytes);
      }
      case "VolumeSnapshotContent" -> {
        Optional<Storage> storage = storage(spec.path("driver").asText());
        put(item.path("status").path("snapshotHandle").asText(), JournalKind.SNAPSHOT, storage, 0);
        put(spec.path("source").path("snapshotHandle").asText(), JournalKind.SNAPSHOT, storage, 0);
      }
      default -> {
        // of no interest
      }
    }
  }

  /** By the usual names of drivers. */
  private static Optional<Storage> storage(String driver) {
    return driver.contains("cephfs")
        ? Optional.of(Storage.CEPHFS)
        : driver.contains("rbd") ? Optional.of(Storage.RBD) : Optional.empty();
  }

  private void put(String handle, JournalKind kind, Optional<Storage> storage, long bytes) {
    VolumeId.parse(handle)
        .ifPresent(id -> known.put(id.uuid(), new Known(id, kind, storage, bytes)));
  }

  /** A quantity of Kubernetes, such as {@code 10Gi}; 0 for one that cannot be read. */
  static long bytes(String quantity) {
    Matcher parts = QUANTITY.matcher(quantity);
    if (!parts.matches()) {
      return 0;
    }
    BigDecimal number = new BigDecimal(parts.group(1));
    String unit = parts.group(2);
    int power = unit.isEmpty() ? 0 : 1 + "kmgtpe".indexOf(unit.toLowerCase(Locale.ROOT).charAt(0));
    BigDecimal base = BigDecimal.valueOf(unit.endsWith("i") ? 1024 : 1000);
    return number.multiply(base.pow(power)).min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
  }

  /** The sizes of volumes, in bytes. */
  Map<UUID, Long> sizes() {
    Map<UUID, Long> sizes = new HashMap<>();
    known.forEach((uuid, volume) -> sizes.put(uuid, volume.bytes));
    return sizes;
  }

  /** Compares with the journal of a namespace of a pool. */
  void compareRbd(IoContext io, FsckReport report) {
    String place = io.namespace().isEmpty() ? io.pool() : io.pool() + "/" + io.namespace();
    places.put(new Place(Storage.RBD, io.poolId()), io.pool());
    Map<UUID, String> of = compare(io, place, report, uuid -> false);
    of.keySet().removeAll(found);
    of.forEach(
        (uuid, image) -> {
          if (waits(io, place, uuid, image)) {
            found.add(uuid);
          } else {
            images.put(uuid, place + "/" + image);
          }
        });
  }

  /** Mirrored images have no entry here before the first call for their volume. */
  private boolean waits(IoContext io, String place, UUID uuid, String image) {
    Known of = Objects.requireNonNull(known.get(uuid));
    try {
      return ImageId.find(new RbdPool(io), image)
          .filter(id -> MirrorCheck.waits(io, id, image, of.kind == JournalKind.VOLUME))
          .isPresent();
    } catch (RuntimeException e) {
      Suspicions.unreadable(place, image, e); // the check of images says it
      return false;
    }
  }

  /** Compares with the journal of a file system. */
  void compareCephFs(FileSystemInfo info, IoContext io, FsckReport report) {
    places.put(new Place(Storage.CEPHFS, info.id()), info.name());
    fileSystems.put(info.id(), info);
    compare(io, info.name(), report, masked(io)::contains);
    read.add(new CephFsJournal(info.id(), io.namespace()));
  }

  /**
   * Looks in the journals of clusterIDs that were not compared for what is theirs. Of one that the
   * user may not read, nothing is reported but how much may be in it.
   */
  void findInOtherJournals(RadosCluster cluster) {
    for (FileSystemInfo info : fileSystems.values()) {
      for (String namespace : Set.copyOf(cephFsJournals.values())) {
        CephFsJournal journal = new CephFsJournal(info.id(), namespace);
        if (!read.contains(journal)) {
          try (IoContext io = cluster.openPool(info.metadataPoolId(), namespace)) {
            io.objects(object -> find(journal, object));
            read.add(journal);
          } catch (CephException.Denied e) {
            unreadable.put(journal, String.valueOf(e.getMessage()));
          }
        }
      }
    }
  }

  private void find(CephFsJournal journal, String object) {
    for (JournalKind kind : List.of(JournalKind.VOLUME, JournalKind.SNAPSHOT)) {
      kind.uuidOf(object)
          .filter(
              uuid ->
                  Optional.ofNullable(known.get(uuid))
                      .flatMap(this::journalOf)
                      .filter(journal::equals)
                      .isPresent())
          .ifPresent(found::add);
    }
  }

  /** The journal that has a volume or snapshot if it is of CephFS; empty if that is not known. */
  private Optional<CephFsJournal> journalOf(Known volume) {
    return Optional.ofNullable(cephFsJournals.get(volume.id.clusterId()))
        .map(namespace -> new CephFsJournal(volume.id.location(), namespace));
  }

  /** Snapshots that a user deleted through ceph-csi, which notes it in the tracker alone. */
  private static Set<UUID> masked(IoContext io) {
    ReferenceTracker trackers = new Trackers().in(io);
    Set<UUID> masked = new HashSet<>();
    for (String id : trackers.snapshotIds()) {
      try {
        trackers
            .read(id)
            .filter(tracker -> tracker.reference(id) == ReferenceState.MASK)
            .flatMap(tracker -> VolumeId.parse(id))
            .ifPresent(snapshot -> masked.add(snapshot.uuid()));
      } catch (TrackerFormatException e) {
        // the check of trackers names it
      }
    }
    return masked;
  }

  /**
   * @param deleted tells of a snapshot that nobody knows any more but the volumes that show it
   * @return the names of images, by the uuid of what Kubernetes knows
   */
  private Map<UUID, String> compare(
      IoContext io, String place, FsckReport report, Predicate<UUID> deleted) {
    Map<UUID, JournalKind> unknown = new HashMap<>();
    Map<UUID, String> imagesOfKnown = new HashMap<>();
    io.objects(
        object -> {
          if (object.startsWith(IMAGE)) {
            String image = object.substring(IMAGE.length());
            ImageNames.uuidAtEnd(image)
                .filter(known::containsKey)
                .ifPresent(uuid -> imagesOfKnown.put(uuid, image));
          }
          note(JournalKind.VOLUME, object, unknown);
          note(JournalKind.SNAPSHOT, object, unknown);
        });
    unknown.forEach(
        (uuid, kind) ->
            StoredEntry.read(io, kind, uuid)
                .filter(stored -> settings.isOld(stored.changedAt()))
                .filter(stored -> stored.entry().filter(JournalEntry::isDeleted).isEmpty())
                .filter(stored -> kind != JournalKind.SNAPSHOT || !deleted.test(uuid))
                .ifPresent(
                    stored ->
                        report.add(
                            Finding.of(
                                FindingKind.ENTRY_WITHOUT_PV,
                                place,
                                kind.object(uuid),
                                stored
                                    .entry()
                                    .map(
                                        entry ->
                                            "name "
                                                + entry.requestName()
                                                + ", on the cluster "
                                                + entry.name())
                                    .orElse("it is damaged")))));
    return imagesOfKnown;
  }

  private void note(JournalKind kind, String object, Map<UUID, JournalKind> unknown) {
    kind.uuidOf(object)
        .ifPresent(
            uuid -> {
              if (known.containsKey(uuid)) {
                found.add(uuid);
              } else {
                unknown.put(uuid, kind);
              }
            });
  }

  /** Reports what should be in one of the pools and file systems that were compared, and is not. */
  void end(FsckReport report) {
    Map<CephFsJournal, Integer> notJudged = new HashMap<>();
    known.forEach(
        (uuid, volume) -> {
          if (found.contains(uuid) || !isOfThisCluster(volume)) {
            return;
          }
          Optional<CephFsJournal> journal =
              journalOf(volume)
                  .filter(unreadable::containsKey)
                  .filter(of -> volume.storage.orElse(Storage.CEPHFS) == Storage.CEPHFS);
          if (journal.isPresent()) {
            notJudged.merge(journal.get(), 1, Integer::sum);
          } else {
            place(volume).ifPresent(place -> report.add(missing(uuid, volume, place)));
          }
        });
    notJudged.forEach(
        (journal, count) ->
            report.leaveOut(
                "PVs of "
                    + Objects.requireNonNull(fileSystems.get(journal.fileSystem)).name()
                    + ", namespace \""
                    + journal.namespace
                    + "\"",
                count + " volumes and snapshots were not judged: " + unreadable.get(journal)));
  }

  private boolean isOfThisCluster(Known volume) {
    return cephFsJournals.isEmpty() || cephFsJournals.containsKey(volume.id.clusterId());
  }

  private Finding missing(UUID uuid, Known volume, Place place) {
    String detail =
        Optional.ofNullable(images.get(uuid)).map(image -> "there is an image " + image).orElse("");
    if (place.storage == Storage.CEPHFS && cephFsJournals.isEmpty()) {
      detail =
          "only the journal in namespace \""
              + ClusterConfig.CEPHFS_DEFAULT
              + "\" was read; with --cluster also those of other clusterIDs";
    }
    return Finding.of(
        FindingKind.PV_WITHOUT_ENTRY,
        Objects.requireNonNull(places.get(place)),
        volume.id.toString(),
        detail);
  }

  private Optional<Place> place(Known volume) {
    return Stream.of(Storage.values())
        .filter(storage -> volume.storage.orElse(storage) == storage)
        .map(storage -> new Place(storage, volume.id.location()))
        .filter(places::containsKey)
        .findFirst();
  }
}
