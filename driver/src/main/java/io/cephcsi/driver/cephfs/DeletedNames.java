package io.cephcsi.driver.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The names of subvolumes and snapshots that were deleted lately, beside the journal. What a late
 * command of a stopped driver makes is so told from what is not ours: it has such a name.
 *
 * <pre>
 *   csi.java.deleted.[instance]   omap  [subvolume] or [subvolume]/[snapshot] → kind of the entry,
 *                                       its uuid, and when it was deleted, in seconds since 1970
 * </pre>
 *
 * <p>Names end in the uuid of their entry, so none is used twice. Safe for several threads and
 * processes.
 *
 * @param io the pool and namespace of the journal
 * @param instanceId tells several drivers on one file system apart
 */
record DeletedNames(IoContext io, String instanceId) {
  private static final Logger LOG = LoggerFactory.getLogger(DeletedNames.class);
  private static final String OBJECT = "csi.java.deleted.";
  private static final String SEPARATOR = "/";

  /**
   * One of the names.
   *
   * @param subvolume which was deleted, or whose snapshot was
   * @param snapshot its snapshot; empty for the subvolume itself
   * @param kind of the entry that it belonged to
   * @param uuid of that entry
   * @param at when it was deleted, or when that was begun
   */
  record Deleted(
      String subvolume, Optional<String> snapshot, JournalKind kind, UUID uuid, Instant at) {
    private String key() {
      return snapshot.map(name -> subvolume + SEPARATOR + name).orElse(subvolume);
    }

    private String value() {
      return kind + " " + uuid + " " + at.getEpochSecond();
    }

    /** Empty for what no driver of this version wrote. */
    private static Optional<Deleted> decode(String key, String value) {
      String[] names = key.split(SEPARATOR, 2);
      String[] words = value.split(" ", -1);
      try {
        Deleted deleted =
            new Deleted(
                names[0],
                names.length > 1 ? Optional.of(names[1]) : Optional.empty(),
                JournalKind.valueOf(words[0]),
                UUID.fromString(words[1]),
                Instant.ofEpochSecond(Long.parseLong(words[2])));
        return Optional.of(deleted).filter(Deleted::isOwn);
      } catch (RuntimeException e) {
        return Optional.empty();
      }
    }

    /** Whether the name is one that drivers give: it ends in the uuid. */
    private boolean isOwn() {
      return snapshot.orElse(subvolume).endsWith(uuid.toString());
    }

    @Override
    public String toString() {
      return snapshot.map(name -> "snapshot " + name + " of ").orElse("")
          + "subvolume "
          + subvolume;
    }
  }

  private String object() {
    return OBJECT + instanceId;
  }

  /**
   * Records the names of a volume and of the snapshot that it was copied by, while both are
   * removed, which takes longer. They are recorded before this returns; if that fails, it is
   * logged.
   */
  void whileVolumeGoes(JournalEntry entry, Runnable removal) {
    beside(() -> addVolume(entry, Instant.now()), entry, removal);
  }

  /** As {@link #whileVolumeGoes}, of a snapshot. */
  void whileSnapshotGoes(JournalEntry entry, Runnable removal) {
    beside(() -> addSnapshot(entry, Instant.now()), entry, removal);
  }

  private static void beside(Runnable addition, JournalEntry entry, Runnable removal) {
    Ahead<Boolean> added =
        Ahead.of(
            () -> {
              addition.run();
              return true;
            });
    removal.run();
    try {
      added.answer();
    } catch (CephException e) {
      LOG.warn(
          "the name {} could not be recorded: what a late command may make of it stays: {}",
          entry.name(),
          e.getMessage());
    }
  }

  private void addVolume(JournalEntry entry, Instant now) {
    List<Deleted> names = new ArrayList<>();
    names.add(of(JournalKind.VOLUME, entry, entry.name(), Optional.empty(), now));
    entry
        .clonedSubvolume()
        .map(source -> of(JournalKind.VOLUME, entry, source, Optional.of(entry.name()), now))
        .ifPresent(names::add);
    write(names);
  }

  private void addSnapshot(JournalEntry entry, Instant now) {
    entry
        .source()
        .map(source -> of(JournalKind.SNAPSHOT, entry, source, Optional.of(entry.name()), now))
        .ifPresent(name -> write(List.of(name)));
  }

  private static Deleted of(
      JournalKind kind,
      JournalEntry entry,
      String subvolume,
      Optional<String> snapshot,
      Instant now) {
    return new Deleted(subvolume, snapshot, kind, entry.uuid(), now);
  }

  private void write(List<Deleted> names) {
    Map<String, byte[]> values = new LinkedHashMap<>();
    names.forEach(name -> values.put(name.key(), name.value().getBytes(UTF_8)));
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object(), write.create().omapSet(values));
    }
  }

  /** All of them; one round trip for each 1,000. */
  List<Deleted> all() {
    List<Deleted> names = new ArrayList<>();
    OmapWalk.keys(
        io,
        object(),
        "",
        (key, value) -> Deleted.decode(key, new String(value, UTF_8)).ifPresent(names::add));
    return names;
  }

  /** Forgets names; one round trip. */
  void forget(List<Deleted> names) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object(), write.omapRemove(names.stream().map(Deleted::key).toList()));
    } catch (CephException.NotFound e) {
      // nothing is known any more
    }
  }
}
