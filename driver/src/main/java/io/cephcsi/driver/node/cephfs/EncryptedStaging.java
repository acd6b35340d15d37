package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.cephfs.CephFsVolumes;
import io.cephcsi.driver.cephfs.VolumeLocation;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The encrypted files of a volume of CephFS that is mounted to be staged.
 *
 * <p>The kernel keeps what it knows of a directory, and does not learn from the MDS that another
 * client has encrypted it: it would go on to write plain files there. So the folder is made in a
 * mount that nobody else sees and that has looked at nothing yet, while the lock of the volume
 * keeps other nodes out; where it is used, it is looked at only afterwards.
 *
 * @param volumes ask the cluster
 * @param mounts for the mount that nobody sees
 */
record EncryptedStaging(CephFsVolumes volumes, PrivateMounts mounts) {
  /** Whether the files of a volume are encrypted, by its context. */
  static boolean isWanted(Map<String, String> context) {
    return EncryptionRequest.parseOfCephFs("volume_context", context).isPresent();
  }

  /** Which part of a volume its users see: the folder of encrypted files, or all of it. */
  static String folder(Map<String, String> context) {
    return isWanted(context) ? EncryptedFolder.NAME : "";
  }

  /** The mounter that its context names; encrypted files need the kernel's. */
  static Optional<String> mounter(Map<String, String> context) {
    return isWanted(context)
        ? Optional.of("kernel")
        : Optional.ofNullable(context.get("mounter")).filter(value -> !value.isBlank());
  }

  /** Asks the KMS, before anything is done on this node. */
  static void askKms(VolumeLocation location) {
    location.secret().flatMap(FileSecret::find).ifPresent(Passphrase::close);
  }

  /**
   * Requires that a volume that is to be shown to a workload is unlocked, if its files are
   * encrypted.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is not
   */
  static void requireUnlocked(String volumeId, Map<String, String> context, Path stagingPath) {
    if (isWanted(context)) {
      new EncryptedFolder(volumeId, stagingPath).requireUnlocked();
    }
  }

  /**
   * Unlocks a mounted volume; makes its folder where it is new.
   *
   * @param what what is mounted at the staging path
   * @param remount takes the mount away, runs what it is given, and mounts again
   * @throws VolumeException FAILED_PRECONDITION when kernel or cluster cannot encrypt, the secret
   *     does not open it, or it shows a snapshot that has no encrypted files; ABORTED while another
   *     node makes the folder; as of the KMS
   */
  void unlock(
      StageRequest request,
      VolumeLocation location,
      CephFsMounter mounter,
      CephFsMounter.Request what,
      Remount remount) {
    FileSecret secret = location.secret().orElseThrow();
    EncryptedFolder folder = new EncryptedFolder(request.volumeId(), request.stagingPath());
    boolean writable = !request.use().readOnly() && location.snapshot().isEmpty();
    boolean isSetUp = folder.isSetUp();
    if (!isSetUp && location.snapshot().isPresent()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "the snapshot that volume "
              + request.volumeId()
              + " shows was taken before its own volume was staged for the first time, so it has"
              + " no encrypted files: take another snapshot, and show that");
    }
    if (!isSetUp && writable) {
      volumes.requireFileEncryption(location.cluster(), request.credentials());
      remount.around(
          () ->
              mounts.use(
                  mounter,
                  what.unshared(),
                  request.stagingPath(),
                  path -> new EncryptedFolder(request.volumeId(), path).setUpAlone(secret)));
    }
    folder.unlockAnew(secret); // also if it is mounted: a call may have ended before it did so
  }

  /** See {@link #unlock}. */
  interface Remount {
    void around(Runnable work);
  }
}
