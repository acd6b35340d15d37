package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.Passphrase;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What opens a snapshot of a volume with encrypted files: the secret of its volume, under the id of
 * the snapshot. It is written once, by the first staging, before that writes anything to the
 * volume.
 *
 * @param source the volume
 */
record SnapshotKey(OpenVolume source) {
  /** What the journal records of a snapshot of the volume. */
  Map<String, String> attributes() {
    Map<String, String> attributes = new LinkedHashMap<>();
    attributes.put(JournalEntry.SOURCE, source.name());
    source.entry().owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    attributes.putAll(EncryptionRequest.attributesOf(source.entry()));
    return attributes;
  }

  /**
   * Gives a snapshot the secret of the volume, if that has one yet. May be repeated.
   *
   * @return whether it has one, or needs none
   * @throws io.cephcsi.driver.volume.VolumeException as of the KMS; FAILED_PRECONDITION if that is
   *     not configured
   */
  boolean give(JournalEntry snapshot) {
    if (!source.entry().isEncrypted()) {
      return true;
    }
    OpenFileSystem files = source.files();
    FileSecret own = files.keys().fileSecret(source.id(), source.entry());
    Optional<Passphrase> secret = own.find();
    try {
      files.keys().fileSecret(files.id(snapshot.uuid()), snapshot).adopt(secret);
      return secret.isPresent();
    } finally {
      secret.ifPresent(Passphrase::close);
    }
  }
}
