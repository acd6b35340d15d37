package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.GroupOwnership;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * What is done in the file system of a volume when it is mounted: the folder of encrypted files is
 * made and unlocked, if it has one, and given to the group of the volume's user. Used by one
 * thread.
 */
final class FileSetup {
  private final StageRequest request;
  private final Function<EncryptionRequest, VolumeKey> key;
  private final Optional<EncryptionRequest> wanted;

  /**
   * @param key finds what opens the files, if they are encrypted
   */
  FileSetup(StageRequest request, Function<EncryptionRequest, VolumeKey> key) {
    this.request = request;
    this.key = key;
    this.wanted = ofFiles(request.context());
  }

  /** What a volume's context says of encrypted files; empty when they are not. */
  static Optional<EncryptionRequest> ofFiles(Map<String, String> context) {
    return EncryptionRequest.parse("volume_context", context)
        .filter(encryption -> !encryption.isOfBlocks());
  }

  /** Whether the files are encrypted. */
  boolean isEncrypted() {
    return wanted.isPresent();
  }

  /** Asks the KMS, if it will be needed, before anything is done on this node. */
  void askKms() {
    wanted.ifPresent(encryption -> secret(encryption).find().ifPresent(Passphrase::close));
  }

  private FileSecret secret(EncryptionRequest encryption) {
    return ((FileKey) key.apply(encryption)).secret();
  }

  /**
   * Makes the volume ready for its users; may be repeated.
   *
   * @param mountPath where it is mounted
   */
  void complete(Path mountPath, Operation operation) {
    if (wanted.isPresent()) {
      operation.phase("unlock the files");
      boolean writable = !request.use().mountedReadOnly() && !request.use().shared();
      new EncryptedFolder(request.volumeId(), mountPath).unlock(secret(wanted.get()), writable);
    }
    if (!request.use().block()) {
      operation.phase("give the files to the group");
      GroupOwnership.give(
          mountPath, wanted.isPresent() ? EncryptedFolder.NAME : "", request.use(), operation);
    }
  }
}
