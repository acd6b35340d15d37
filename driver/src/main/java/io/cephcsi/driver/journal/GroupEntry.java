package io.cephcsi.driver.journal;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What the journal says of a volume group or of a snapshot of a group.
 *
 * @param journal the entry as every journal has it
 */
public record GroupEntry(JournalEntry journal) {
  private static final String CREATION_TIME = "csi.creationtime";
  private static final String OURS = "csi.";

  static Map<String, String> attributes(Instant createdAt, Map<VolumeId, String> values) {
    Map<String, String> attributes = new TreeMap<>();
    attributes.put(CREATION_TIME, createdAt.toString());
    values.forEach((id, value) -> attributes.put(id.toString(), value));
    return attributes;
  }

  /** Its name on the cluster. */
  public String name() {
    return journal.name();
  }

  /** The ids that are recorded, sorted, each with its value. */
  public Map<VolumeId, String> values() {
    Map<String, VolumeId> ids = new TreeMap<>();
    journal
        .attributes()
        .keySet()
        .forEach(
            key -> {
              if (!key.startsWith(OURS)) {
                VolumeId.parse(key).ifPresent(id -> ids.put(key, id));
              }
            });
    Map<VolumeId, String> values = new LinkedHashMap<>();
    ids.forEach((key, id) -> values.put(id, journal.attributes().getOrDefault(key, "")));
    return values;
  }

  /** The members of a volume group, sorted by their ids. */
  public List<VolumeId> members() {
    return List.copyOf(values().keySet());
  }

  /**
   * The snapshots of a snapshot of a group: its keys, or, as ceph-csi has it for file systems, the
   * values of keys that are volumes.
   */
  public List<VolumeId> snapshots() {
    List<VolumeId> ids = new ArrayList<>();
    values().forEach((key, value) -> ids.add(VolumeId.parse(value).orElse(key)));
    return ids;
  }

  /** Whether these are snapshots, which have values, and not the volumes of a group. */
  public boolean isOfSnapshots() {
    return values().values().stream().anyMatch(value -> !value.isEmpty());
  }

  /**
   * Refuses a call about a snapshot of a group that the CO takes to have other snapshots.
   *
   * @param id of the group's snapshot
   * @param expected their ids; one that is no id of ours is none of them
   * @throws VolumeException INVALID_ARGUMENT naming those that it has
   */
  public void requireSnapshots(VolumeId id, Set<String> expected) {
    Set<String> there =
        snapshots().stream().map(VolumeId::toString).collect(Collectors.toUnmodifiableSet());
    if (!there.equals(expected)) {
      throw VolumeException.invalid(
          "snapshot_ids: group snapshot " + id + " has the snapshots " + there);
    }
  }

  /** When it was made, if that is recorded legibly. */
  public Optional<Instant> createdAt() {
    try {
      return Optional.ofNullable(journal.attributes().get(CREATION_TIME))
          .map(text -> OffsetDateTime.parse(text).toInstant());
    } catch (DateTimeParseException e) {
      return Optional.empty();
    }
  }
}
