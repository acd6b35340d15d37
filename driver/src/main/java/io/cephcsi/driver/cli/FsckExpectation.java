package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which volumes and snapshots Kubernetes knows, by {@code kubectl get -o json}, compared with the
 * journals of one cluster: each journal by itself, and then what none of them had.
 */
final class FsckExpectation {
  private static final Pattern QUANTITY =
      Pattern.compile("([0-9]{1,18}(?:\\.[0-9]{1,18})?)(|[KMGTPE]i|[kMGTPE])");

  private final Map<UUID, Known> known = new HashMap<>();
  private final Set<String> clusterIds;
  private final CheckSettings settings;
  private final Set<UUID> found = new HashSet<>();
  private final Map<Place, String> places = new HashMap<>();

  /** A pool or file system by its id. */
  private record Place(Storage storage, long id) {}

  /** What Kubernetes says; the storage is empty if that does not tell it. */
  private record Known(VolumeId id, Optional<Storage> storage, long bytes) {}

  private FsckExpectation(Set<String> clusterIds, CheckSettings settings) {
    this.clusterIds = clusterIds;
    this.settings = settings;
  }

  /**
   * Reads the file.
   *
   * @param clusterIds of the cluster that is checked; empty for any
   * @param settings what is young may be missing in the file
   * @throws ConfigException if it cannot be read
   */
  static FsckExpectation read(Path file, Set<String> clusterIds, CheckSettings settings) {
    FsckExpectation expected = new FsckExpectation(clusterIds, settings);
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
        put(csi.path("volumeHandle").asText(), storage, bytes);
      }
      case "VolumeSnapshotContent" -> {
        Optional<Storage> storage = storage(spec.path("driver").asText());
        put(item.path("status").path("snapshotHandle").asText(), storage, 0);
        put(spec.path("source").path("snapshotHandle").asText(), storage, 0);
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

  private void put(String handle, Optional<Storage> storage, long bytes) {
    VolumeId.parse(handle).ifPresent(id -> known.put(id.uuid(), new Known(id, storage, bytes)));
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
    compare(io, place, report, uuid -> false);
  }

  /** Compares with the journal of a file system. */
  void compareCephFs(FileSystemInfo info, IoContext io, FsckReport report) {
    places.put(new Place(Storage.CEPHFS, info.id()), info.name());
    compare(io, info.name(), report, masked(io)::contains);
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
   */
  private void compare(IoContext io, String place, FsckReport report, Predicate<UUID> deleted) {
    Map<UUID, JournalKind> unknown = new HashMap<>();
    io.objects(
        object -> {
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
    known.forEach(
        (uuid, volume) -> {
          if (!found.contains(uuid)
              && (clusterIds.isEmpty() || clusterIds.contains(volume.id.clusterId()))) {
            place(volume)
                .ifPresent(
                    place ->
                        report.add(
                            Finding.of(
                                FindingKind.PV_WITHOUT_ENTRY, place, volume.id.toString(), "")));
          }
        });
  }

  private Optional<String> place(Known volume) {
    for (Storage storage : Storage.values()) {
      String place = places.get(new Place(storage, volume.id.location()));
      if (place != null && volume.storage.orElse(storage) == storage) {
        return Optional.of(place);
      }
    }
    return Optional.empty();
  }
}
