package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.journal.JournalEntry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The content that a new volume gets. */
sealed interface VolumeContent {
  /** What the journal records of it from the start. */
  Map<String, String> attributes();

  /** Nothing. */
  record Empty() implements VolumeContent {
    @Override
    public Map<String, String> attributes() {
      return Map.of();
    }
  }

  /**
   * A copy of a snapshot or volume.
   *
   * @param source its identifier
   * @param subvolume what is copied: a subvolume, or what is left of it
   * @param snapshot of it; empty to take one
   */
  record Copied(String source, String subvolume, Optional<String> snapshot)
      implements VolumeContent {
    @Override
    public Map<String, String> attributes() {
      Map<String, String> attributes = new LinkedHashMap<>();
      attributes.put(JournalEntry.CONTENT_SOURCE, source);
      if (snapshot.isEmpty()) {
        attributes.put(JournalEntry.CLONED_SUBVOLUME, subvolume);
      }
      return attributes;
    }
  }

  /**
   * A snapshot itself.
   *
   * @param snapshotId the identifier of the CSI snapshot
   * @param snapshot its journal entry
   * @param resolved where it is
   * @param from the reference of the shallow volume that this one is made from; empty when it is
   *     made from the CSI snapshot
   */
  record Shown(
      String snapshotId, JournalEntry snapshot, ResolvedSnapshot resolved, Optional<String> from)
      implements VolumeContent {
    @Override
    public Map<String, String> attributes() {
      return Map.of(JournalEntry.BACKING_SNAPSHOT, snapshotId);
    }

    /** The subvolume that the snapshot was taken of. */
    String subvolume() {
      return snapshot.source().orElseThrow();
    }
  }
}
