package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeId;

/**
 * A snapshot that the journal knows, as one call works on it.
 *
 * @param session of the call
 * @param id its identifier
 * @param pool the pool of its image, or of its volume's if it stays on that
 * @param entry what the journal says
 */
public record OpenSnapshot(RbdSession session, VolumeId id, RbdPool pool, JournalEntry entry) {
  /** Whether it is on its volume's image, and has none of its own. */
  public boolean staysOnImage() {
    return entry.nativeImage().isPresent();
  }

  /** Whether it is complete by its entry. */
  public boolean isTaken() {
    return entry.imageId().isPresent() || entry.nativeSnapshot().isPresent();
  }

  /** A snapshot as answers have it. */
  public static CreatedSnapshot created(VolumeId id, VolumeId source, HeaderSnapshot snapshot) {
    return new CreatedSnapshot(id, source, snapshot.size(), snapshot.createdAt());
  }
}
