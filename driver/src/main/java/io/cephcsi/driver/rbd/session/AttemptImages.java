package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.NameRemoval;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The images of one attempt: creates them as clones, and removes those that earlier attempts left,
 * or that this one created and cannot record.
 *
 * @param session of the call
 * @param pool of the images
 * @param attempt the attempt
 * @param namePrefix begins the names that the class gives
 */
public record AttemptImages(RbdSession session, RbdPool pool, Attempt attempt, String namePrefix) {
  private static final Logger LOG = LoggerFactory.getLogger(AttemptImages.class);

  /**
   * Clones a snapshot. A clone that exists already was left by an interrupted call. How complete it
   * is cannot be seen from outside: it may lack its parent, or its parent may not list it as a
   * clone, so that the parent could be removed. So it is removed; no caller has got it.
   *
   * @param from the pool of the snapshot
   */
  public void makeClone(
      RbdPool from, String image, String snapshot, String clone, ImageOptions options) {
    try {
      from.cloneImage(image, snapshot, pool, clone, options);
    } catch (CephException.AlreadyExists e) {
      discard(clone, true);
      from.cloneImage(image, snapshot, pool, clone, options);
    }
  }

  /**
   * Removes an image, if there is one of the name. First its id is read, then it is checked that no
   * other attempt has replaced this one; then the image of that id is removed, whatever has its
   * name by then. So if this process is stopped in between, it removes no other image when it goes
   * on.
   *
   * <p>An image that another program may have created, and returned to a caller, is kept if it has
   * no parent: its content could not be created again. The exception is an image that was to be a
   * clone and was never written to: librbd creates the header of a clone before it sets the parent.
   *
   * @param clone whether it was to be a clone
   * @throws VolumeException ABORTED if another attempt has replaced this one; ALREADY_EXISTS if
   *     another program made the image and it has no parent; FAILED_PRECONDITION if another program
   *     made it and a client has it open
   */
  public void discard(String name, boolean clone) {
    Optional<String> id = CloneSteps.leadsTo(pool, name);
    if (id.isEmpty()) {
      return;
    }
    attempt.requireNotReplaced();
    if (attempt.isOfOtherProgram() && !isThere(name, id.get(), clone)) {
      NameRemoval.forget(pool, name, id.get());
      return;
    }
    LOG.info("image {} is left from an interrupted call: removing it", name);
    toTrash(name, id.get());
  }

  private void toTrash(String name, String id) {
    CloneSteps.discard(pool, name, id).ifPresent(gone -> session.purge(pool.io(), gone));
  }

  /** Whether an image that another program made is there, and can go; else it has no header. */
  private boolean isThere(String name, String id, boolean clone) {
    Optional<ImageHeader> header = CloneSteps.awaitHeader(pool, id);
    if (header.isEmpty()) {
      return false;
    }
    // The image between a volume and its clone belongs to no volume; it may have been flattened.
    if (name.equals(attempt.entry().name())
        && header.get().parent().isEmpty()
        && !(clone && isBlank(id, header.get()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          attempt.entry().requestName()
              + " exists: another program created its image "
              + name
              + ", which has no parent and is not in the journal");
    }
    try {
      ImageUse.requireUnused(pool, id, "image " + name);
      return true;
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Whether a snapshot that is named after the entry, on what is cloned, can only have been left by
   * an attempt. In the entry's own pool the entry proves it. A user that can write there may have
   * no right to another pool: there it must be named as the class names, and no entry's own.
   *
   * @param from the pool of what is cloned
   */
  public boolean mayRemoveSnapshot(RbdPool from) {
    JournalEntry entry = attempt.entry();
    return attempt.isIn(from.io())
        || (entry.name().equals(namePrefix + entry.uuid()) && attempt.isUnknownTo(from.io()));
  }

  /**
   * As {@link #mayRemoveSnapshot}.
   *
   * @param snapshot what is there, for the message
   * @throws VolumeException FAILED_PRECONDITION if not
   */
  public void requireOwnSnapshot(RbdPool from, String snapshot) {
    if (!mayRemoveSnapshot(from)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "snapshot "
              + snapshot
              + " in pool "
              + from.io().pool()
              + " has the name that a snapshot for "
              + attempt.entry().requestName()
              + " needs, and no mark that it was taken for that: remove it if nobody needs it");
    }
  }

  private boolean isBlank(String id, ImageHeader header) {
    if (!header.snapshotIds().isEmpty()) {
      return false;
    }
    AncestryCheck.requireOpenable(pool.io(), id, header);
    try (RbdImage image = pool.openByIdReadOnly(id)) {
      return image.diff(
          Optional.empty(), 0, header.size(), false, true, (offset, length, exists) -> false);
    } catch (CephException.NotFound e) {
      return true; // it is being removed
    }
  }

  /**
   * Throws away an image that this attempt made, when it cannot record it.
   *
   * @param id its id, as it was made
   */
  public void discardOwn(String name, String id) {
    try {
      if (!attempt.mayBeKept(id)) {
        toTrash(name, id);
      }
    } catch (CephException e) {
      LOG.warn(
          "image {} (id {}) could not be removed and may still exist: {}",
          name,
          id,
          e.getMessage());
    }
  }
}
