package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.Passphrase;
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
   * @param isThere whether the manager knows the snapshot, which it is asked meanwhile
   */
  record Shown(
      String snapshotId,
      JournalEntry snapshot,
      ResolvedSnapshot resolved,
      Optional<String> from,
      Ahead<Boolean> isThere)
      implements VolumeContent {
    @Override
    public Map<String, String> attributes() {
      return Map.of(JournalEntry.BACKING_SNAPSHOT, snapshotId);
    }

    static Shown of(
        OpenFileSystem files,
        String snapshotId,
        JournalEntry snapshot,
        ResolvedSnapshot resolved,
        Optional<String> from) {
      return new Shown(snapshotId, snapshot, resolved, from, isThere(files, snapshot));
    }

    /** What is shown is opened by the secret of the snapshot, under the id of the volume. */
    void giveSecret(OpenFileSystem files, JournalEntry volume) {
      if (!volume.isEncrypted()) {
        return;
      }
      Optional<Passphrase> secret =
          files.keys().fileSecret(files.id(snapshot.uuid()), snapshot).find();
      try {
        files.keys().fileSecret(files.id(volume.uuid()), volume).adopt(secret);
      } finally {
        secret.ifPresent(Passphrase::close);
      }
    }

    /** Asks whether the manager knows the snapshot now. */
    Ahead<Boolean> look(OpenFileSystem files) {
      return isThere(files, snapshot);
    }

    private static Ahead<Boolean> isThere(OpenFileSystem files, JournalEntry snapshot) {
      String subvolume = snapshot.source().orElseThrow();
      return Ahead.of(() -> files.admin().snapshotInfo(subvolume, snapshot.name()).isPresent());
    }
  }
}
