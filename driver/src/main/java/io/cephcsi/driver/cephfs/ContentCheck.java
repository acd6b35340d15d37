package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import java.util.Optional;

/** Whether a volume that has a name was made with the content that is asked for now. */
final class ContentCheck {
  private ContentCheck() {}

  /**
   * Requires that it was. The journal says of which source a volume is a copy, but not of those
   * that ceph-csi made: for these, the manager is asked whether they are copies at all.
   *
   * @throws VolumeException ALREADY_EXISTS if it was not
   */
  static void require(SubvolumeAdmin admin, JournalEntry entry, VolumeContent content) {
    Map<String, String> wanted = content.attributes();
    Optional<String> source = Optional.ofNullable(wanted.get(JournalEntry.CONTENT_SOURCE));
    boolean same =
        entry
            .backingSnapshot()
            .equals(Optional.ofNullable(wanted.get(JournalEntry.BACKING_SNAPSHOT)));
    if (same && entry.contentSource().isPresent()) {
      same = entry.contentSource().equals(source);
    } else if (same && source.isPresent()) {
      same = admin.isClone(entry.name()).orElse(true); // one that is not there can become the copy
    }
    if (!same) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume " + entry.requestName() + " exists with another volume_content_source");
    }
  }
}
