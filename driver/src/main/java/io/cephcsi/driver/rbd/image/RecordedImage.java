package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the image of an entry that has one recorded. */
public final class RecordedImage {
  private static final Logger LOG = LoggerFactory.getLogger(RecordedImage.class);

  private RecordedImage() {}

  /**
   * Finds the image of an entry whose deletion has not begun; one round trip if it is the one that
   * was recorded. One that has only lost its name gets it back. If it does not exist and another
   * image has its name, the other one replaced it (as {@code rbd migration} or a mirror does), and
   * it is recorded.
   *
   * @return its id; empty if it is gone
   * @throws VolumeException FAILED_PRECONDITION if it lies in the trash, or has another name;
   *     ABORTED if another image has its name
   */
  public static Optional<String> find(RbdPool pool, Journal journal, JournalEntry entry) {
    Optional<String> named = ImageId.find(pool, entry.name());
    if (named.equals(entry.imageId())) {
      return named;
    }
    String recorded = entry.imageId().orElseThrow();
    boolean inTrash = pool.trashEntry(recorded).isPresent();
    boolean there = inTrash || ImageHeader.read(pool.io(), recorded).isPresent();
    if (named.isEmpty()) {
      if (restoreName(pool, entry)) {
        return entry.imageId();
      }
      if (there) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            describe(entry, recorded)
                + (inTrash ? " is in the trash" : " has lost its name")
                + ", but no driver deleted it: restore it (rbd trash restore, rbd rename), or"
                + " delete the volume or snapshot");
      }
      return Optional.empty();
    }
    if (there || ImageHeader.read(pool.io(), named.get()).isEmpty()) {
      throw new VolumeException(
          Reason.ABORTED,
          describe(entry, recorded) + " is being replaced by the one with id " + named.get());
    }
    Attempt.replaceImageId(journal, entry, named.get());
    return named;
  }

  /**
   * The recorded image of an entry whose name leads to none, if it has only lost the name: it has a
   * header, is not in the trash, and nobody gave it another name. Three round trips at most.
   */
  public static Optional<String> nameless(RbdPool pool, JournalEntry entry) {
    return entry
        .imageId()
        .filter(
            id -> ImageHeader.name(pool.io(), id).filter(n -> !n.equals(entry.name())).isEmpty())
        .filter(id -> pool.trashEntry(id).isEmpty())
        .filter(id -> ImageHeader.read(pool.io(), id).isPresent());
  }

  /**
   * Makes the name of an entry lead to its recorded image again, if it is lost and the entry is not
   * being deleted: librbd removes a name without a comparison when it fails to make an image, see
   * {@code docs/decisions/attempts.md}.
   *
   * @param entry of a volume or snapshot with an image of its own
   * @return whether the name leads to it
   */
  public static boolean restoreName(RbdPool pool, JournalEntry entry) {
    return !AttachmentJournal.isBeingDeleted(entry)
        && entry.imageId().filter(id -> restoreName(pool, entry.name(), id)).isPresent();
  }

  /**
   * As {@link #restoreName(RbdPool, JournalEntry)}.
   *
   * @param id of an image that was recorded under the name, and is not being deleted
   */
  public static boolean restoreName(RbdPool pool, String name, String id) {
    boolean restored = ImageCondition.restoreName(pool.io(), name, id);
    if (restored) {
      LOG.warn(
          "the name {} was lost, or somebody is at work on it: it leads to id {} again", name, id);
    }
    return restored;
  }

  private static String describe(JournalEntry entry, String id) {
    return "the image " + entry.name() + " (id " + id + ") of " + entry.requestName();
  }
}
