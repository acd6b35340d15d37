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
 *                                       its uuid, when it was deleted, in seconds since 1970, and
 *                                       the group of the subvolume
 * </pre>
 *
 * <p>Names end in the uuid of their entry, so none is used twice. Safe for several threads and
 * processes.
 *
 * @param io the pool and namespace of the journal
 * @param instanceId tells several drivers on one file system apart
 * @param group of the subvolumes whose names are recorded; other groups may share the journal
 */
record DeletedNames(IoContext io, String instanceId, String group) {
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
   * @param at when it was deleted, or when that was begun; until then it is used
   * @param group of the subvolume; empty if an older driver recorded the name, which says none
   */
  record Deleted(
      String subvolume,
      Optional<String> snapshot,
      JournalKind kind,
      UUID uuid,
      Instant at,
      Optional<String> group) {
    private String key() {
      return snapshot.map(name -> subvolume + SEPARATOR + name).orElse(subvolume);
    }

    private String value() {
      return kind
          + " "
          + uuid
          + " "
          + at.getEpochSecond()
          + group.map(of -> " " + of).orElse(""); // older drivers read three words of any number
    }

    /** Empty for what no driver of this version wrote. */
    private static Optional<Deleted> decode(String key, String value) {
      String[] names = key.split(SEPARATOR, 2);
      String[] words = value.split(" ", 4);
      try {
        Deleted deleted =
            new Deleted(
                names[0],
                names.length > 1 ? Optional.of(names[1]) : Optional.empty(),
                JournalKind.valueOf(words[0]),
                UUID.fromString(words[1]),
                Instant.ofEpochSecond(Long.parseLong(words[2])),
                words.length > 3 ? Optional.of(words[3]) : Optional.empty());
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

  /**
   * Records the name of a subvolume that is made for a moment only, before it is made; one round
   * trip. Whoever has removed it forgets the name.
   *
   * @param uuid ends the name, and is that of no entry
   * @param until when it is removed at the latest by who makes it
   */
  Deleted addTemporary(String subvolume, UUID uuid, Instant until) {
    Deleted name =
        new Deleted(
            subvolume, Optional.empty(), JournalKind.VOLUME, uuid, until, Optional.of(group));
    write(List.of(name));
    return name;
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

  private Deleted of(
      JournalKind kind,
      JournalEntry entry,
      String subvolume,
      Optional<String> snapshot,
      Instant now) {
    return new Deleted(subvolume, snapshot, kind, entry.uuid(), now, Optional.of(group));
  }

  private void write(List<Deleted> names) {
    Map<String, byte[]> values = new LinkedHashMap<>();
    names.forEach(name -> values.put(name.key(), name.value().getBytes(UTF_8)));
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object(), write.create().omapSet(values));
    }
  }

  /** All of them, those of other groups too; one round trip for each 1,000. */
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
