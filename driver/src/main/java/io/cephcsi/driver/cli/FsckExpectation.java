package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** Which volumes and snapshots Kubernetes knows, by {@code kubectl get -o json}. */
final class FsckExpectation {
  private final Map<UUID, VolumeId> volumes = new HashMap<>();
  private final Map<UUID, VolumeId> snapshots = new HashMap<>();

  private FsckExpectation() {}

  /**
   * Reads the file.
   *
   * @throws ConfigException if it cannot be read
   */
  static FsckExpectation read(Path file) {
    FsckExpectation expected = new FsckExpectation();
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
    switch (item.path("kind").asText()) {
      case "PersistentVolume" ->
          put(volumes, item.path("spec").path("csi").path("volumeHandle").asText());
      case "VolumeSnapshotContent" -> {
        put(snapshots, item.path("status").path("snapshotHandle").asText());
        put(snapshots, item.path("spec").path("source").path("snapshotHandle").asText());
      }
      default -> {
        // of no interest
      }
    }
  }

  private static void put(Map<UUID, VolumeId> ids, String handle) {
    VolumeId.parse(handle).ifPresent(id -> ids.put(id.uuid(), id));
  }

  /** Compares with the journal of a pool. */
  void compareRbd(IoContext io, FsckReport report) {
    String place = io.namespace().isEmpty() ? io.pool() : io.pool() + "/" + io.namespace();
    compare(io, io.poolId(), place, report);
  }

  /** Compares with the journal of a file system. */
  void compareCephFs(FileSystemInfo info, IoContext io, FsckReport report) {
    compare(io, info.id(), info.name(), report);
  }

  private void compare(IoContext io, long location, String place, FsckReport report) {
    Set<UUID> journalVolumes = new HashSet<>();
    Set<UUID> journalSnapshots = new HashSet<>();
    io.objects(
        object -> {
          JournalKind.VOLUME.uuidOf(object).ifPresent(journalVolumes::add);
          JournalKind.SNAPSHOT.uuidOf(object).ifPresent(journalSnapshots::add);
        });
    compare(io, JournalKind.VOLUME, volumes, journalVolumes, location, place, report);
    compare(io, JournalKind.SNAPSHOT, snapshots, journalSnapshots, location, place, report);
  }

  private static void compare(
      IoContext io,
      JournalKind kind,
      Map<UUID, VolumeId> known,
      Set<UUID> journal,
      long location,
      String place,
      FsckReport report) {
    known.forEach(
        (uuid, id) -> {
          if (id.location() == location
              && !journal.contains(uuid)
              && !StoredEntry.exists(io, kind, uuid)) {
            report.add(Finding.of(FindingKind.PV_WITHOUT_ENTRY, place, id.toString(), ""));
          }
        });
    for (UUID uuid : journal) {
      if (!known.containsKey(uuid)) {
        StoredEntry.read(io, kind, uuid)
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
                                .orElse("it is damaged"))));
      }
    }
  }
}
