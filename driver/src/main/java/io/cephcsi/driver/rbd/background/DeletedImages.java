package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells which images in the trash a driver moved there: those that have a {@link TrashMark}. The
 * name of an image is no proof: other programs may use the same names, or move the image of a
 * volume to the trash. See {@code docs/decisions/trash.md}. Safe for several threads; blocks on the
 * cluster.
 */
public final class DeletedImages {
  private static final Logger LOG = LoggerFactory.getLogger(DeletedImages.class);
  private static final Pattern NAMED_BY_A_DRIVER =
      Pattern.compile(
          ".*?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(-temp)?",
          Pattern.DOTALL);
  // Others have uuids in their names, too: only these are worth a warning.
  private static final Pattern LIKELY_OURS =
      Pattern.compile("csi-(vol|snap)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-temp)?");
  private static final int SHOWN = 20;

  private final String instanceId;

  DeletedImages(String instanceId) {
    this.instanceId = instanceId;
  }

  /** A name with the form of those that drivers give: group 1 is the uuid. */
  public static Optional<Matcher> parse(String name) {
    return Optional.of(NAMED_BY_A_DRIVER.matcher(name)).filter(Matcher::matches);
  }

  /** An image in the trash that a driver moved there, without a deferment; one round trip. */
  static Optional<TrashEntry> find(IoContext io, String imageId) {
    return TrashMark.find(io, imageId)
        .filter(entry -> !entry.deferredUntil().isAfter(Instant.now()));
  }

  /** As {@link #find}, of an image that the journal has forgotten: no call still works on it. */
  Optional<TrashEntry> findUnreferenced(IoContext io, String imageId) {
    return find(io, imageId).filter(entry -> isUnreferenced(io, entry));
  }

  private boolean isUnreferenced(IoContext io, TrashEntry entry) {
    Optional<Matcher> name = parse(entry.name());
    if (name.isEmpty() || name.get().group(2) != null) {
      return true; // the image between a volume and its clone has no entry
    }
    UUID uuid = UUID.fromString(name.get().group(1));
    return isUnreferenced(io, JournalKind.VOLUME, uuid, entry)
        && isUnreferenced(io, JournalKind.SNAPSHOT, uuid, entry);
  }

  /** Whether the journal does not know an image, or has another one in its place. */
  private boolean isUnreferenced(IoContext io, JournalKind kind, UUID uuid, TrashEntry entry) {
    try {
      return new Journal(kind, instanceId, io, io)
          .byUuid(uuid)
          .filter(e -> e.imageId().isEmpty() || e.imageId().equals(Optional.of(entry.id())))
          .filter(e -> e.name().equals(entry.name()))
          .isEmpty();
    } catch (VolumeException e) { // a damaged entry may be its own
      LOG.warn("image {} stays in the trash: {}", entry.name(), e.getMessage());
      return false;
    }
  }

  /** The forgotten ones of a pool; says in the log which others look as if a driver made them. */
  List<TrashEntry> allUnreferenced(IoContext io) {
    Set<String> marked = TrashMark.all(io);
    List<TrashEntry> forgotten = new ArrayList<>();
    List<String> unproven = new ArrayList<>();
    for (TrashEntry entry : TrashDirectory.list(io)) {
      Optional<TrashEntry> ours =
          marked.contains(entry.id()) ? find(io, entry.id()) : Optional.empty();
      ours.filter(e -> isUnreferenced(io, e)).ifPresent(forgotten::add);
      if (ours.isEmpty()
          && entry.source() == TrashSource.USER
          && LIKELY_OURS.matcher(entry.name()).matches()) {
        unproven.add(entry.name() + " (id " + entry.id() + ")");
      }
    }
    if (!unproven.isEmpty()) {
      LOG.warn(
          "{} images stay in the trash of {}: they have no mark that a driver moved"
              + " them there; remove those that nobody needs with \"rbd trash rm\": {}{}",
          unproven.size(),
          io.pool(),
          String.join(", ", unproven.subList(0, Math.min(SHOWN, unproven.size()))),
          unproven.size() > SHOWN ? ", ..." : "");
    }
    return forgotten;
  }

  /**
   * Removes the marks of images that are gone for good. One that was restored keeps its mark, which
   * tells of no later entry. A round trip for every 128 marks, and one for each without an entry.
   */
  static void removeOldMarks(IoContext io) {
    List<String> old = TrashMark.withoutEntry(io).stream().filter(id -> isGone(io, id)).toList();
    if (!old.isEmpty()) {
      TrashMark.remove(io, old);
    }
  }

  private static boolean isGone(IoContext io, String imageId) {
    try {
      return ImageHeader.read(io, imageId).isEmpty();
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) { // of this image; others may be gone
      LOG.warn("image {} keeps its mark in {}: {}", imageId, io.pool(), e.getMessage());
      return false;
    }
  }
}
