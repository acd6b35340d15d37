package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cephfs.DeletedNames.Deleted;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pin that a volume gets when it is made. The reservation records that the volume is not pinned
 * yet, and the call that pins it removes that before it answers. So a volume with the key was given
 * to nobody, whichever call began it and wherever that ended: if the metadata servers refuse the
 * pin, it is deleted, as the CO takes the refusal for the end and never deletes it. A volume
 * without the key stays.
 *
 * @param files the file system that the volume is in
 * @param trackers of all file systems
 * @param wanted the pin; empty for none
 */
record FirstPin(OpenFileSystem files, Trackers trackers, Optional<MdsPin> wanted) {
  private static final Logger LOG = LoggerFactory.getLogger(FirstPin.class);

  /** Begins the name of a subvolume that a pin is tried on. */
  private static final String PROBE = "csi.java.pin-";

  private static final long PROBE_BYTES = 4096;

  /** How long it is left alone by those who remove what a stopped driver left. */
  private static final Duration PROBE_TIME = Duration.ofMinutes(5);

  /** What the journal records of a new volume with such a content. */
  static Map<String, String> attributes(Optional<MdsPin> wanted, VolumeContent content) {
    return wanted.isEmpty() || content instanceof VolumeContent.Shown
        ? Map.of()
        : Map.of(JournalEntry.UNPINNED, "1");
  }

  /**
   * Before a copy is begun: tries the pin on an empty subvolume. The CO repeats a call whose pin is
   * refused, and each repetition would copy the whole source. A lookup, two writes and five
   * commands of the manager, only for a copy with a pin. The subvolume's name is recorded while it
   * may exist: {@link LateCommands} removes that of a driver that was killed, or whose command came
   * late.
   *
   * @param requestName of the volume; one that was begun before is not looked at
   * @throws VolumeException FAILED_PRECONDITION if the metadata servers refuse the pin; ABORTED if
   *     that took so long that the subvolume was removed
   */
  static void requirePossible(OpenFileSystem files, Optional<MdsPin> wanted, String requestName) {
    if (wanted.isEmpty() || files.volumes().byName(requestName).isPresent()) {
      return;
    }
    UUID uuid = UUID.randomUUID();
    String probe = PROBE + uuid;
    Deleted name = files.deletedNames().addTemporary(probe, uuid, Instant.now().plus(PROBE_TIME));
    files.admin().create(probe, PROBE_BYTES, Optional.empty());
    try {
      wanted.get().applyTo(files.admin(), probe);
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.ABORTED, "trying the pin of " + requestName + " took too long; try again", e);
    } finally {
      remove(files, name);
    }
  }

  /** When this fails, the name stays recorded, and the subvolume is removed later. */
  static void remove(OpenFileSystem files, Deleted name) {
    try {
      files.admin().remove(name.subvolume());
      files.deletedNames().forget(List.of(name));
    } catch (CephException | VolumeException e) {
      LOG.warn("{}, which is empty, is removed later: {}", name, e.getMessage());
    }
  }

  /**
   * Pins a volume whose data are there; nothing to do where none is wanted. Two round trips beside
   * the commands of {@link MdsPin#applyTo}. The caller holds the lock of the name.
   *
   * @param volume its journal entry, perhaps as it was a while ago
   * @throws VolumeException FAILED_PRECONDITION if the metadata servers refuse it, and then it is
   *     deleted if nobody has got it; ABORTED if it was deleted meanwhile, or another call pins it
   */
  void giveTo(JournalEntry volume) {
    if (wanted.isEmpty() && !volume.isUnpinned()) {
      return;
    }
    JournalEntry entry = files.volumes().byUuid(volume.uuid()).orElseThrow(() -> gone(volume));
    try {
      wanted.ifPresent(pin -> pin.applyTo(files.admin(), entry.name()));
    } catch (CephException.NotFound e) {
      throw gone(volume);
    } catch (VolumeException e) {
      if (e.reason() == Reason.FAILED_PRECONDITION && entry.isUnpinned()) {
        delete(entry);
      }
      throw e;
    }
    if (entry.isUnpinned()) {
      files.volumes().removeKey(entry, JournalEntry.UNPINNED);
    }
  }

  /** Unless another call has changed the entry since it was read, such as by pinning the volume. */
  private void delete(JournalEntry entry) {
    files
        .volumes()
        .undoUnlessTakenOver(
            entry, () -> new CephFsVolumeDeletion(files, trackers, entry).carryOut());
  }

  private static VolumeException gone(JournalEntry entry) {
    return new VolumeException(
        Reason.ABORTED, "volume " + entry.requestName() + " was deleted meanwhile; try again");
  }
}
