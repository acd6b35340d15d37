package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.PoolMirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.RenewedLock;
import io.cephcsi.driver.encryption.EncryptionType;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.operation.NodeKeys;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.EncryptionState;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives encrypted volumes that are staged on this node another passphrase. The data, and the key
 * that they are encrypted with, stay as they are: see {@link SlotRotation}. The slots are 0 and 1,
 * as ceph-csi has them; others are not touched. Safe for several threads; blocks.
 */
public final class KeyRotation {
  private static final Logger LOG = LoggerFactory.getLogger(KeyRotation.class);
  private static final Duration HOLDS = Duration.ofMinutes(3);
  private static final String LOCK = "-mutexlock";

  private final RbdSessions sessions;
  private final Attachers attachers;
  private final Path secrets;

  /**
   * @param sessions of the calls
   * @param attachers of this node
   * @param secrets where files with secrets are, see {@link
   *     io.cephcsi.driver.node.machine.SecretFile}
   */
  public KeyRotation(RbdSessions sessions, Attachers attachers, Path secrets) {
    this.sessions = sessions;
    this.attachers = attachers;
    this.secrets = secrets;
  }

  /**
   * Rotates the passphrase of a volume.
   *
   * @throws VolumeException NOT_FOUND if it does not exist; FAILED_PRECONDITION if it is not
   *     encrypted, another site may need the same passphrase of a KMS that stores it, its KMS
   *     cannot store another one, or it is not staged here for writing; UNIMPLEMENTED for encrypted
   *     files; ABORTED while another rotation, or another call on the image, is at work; as of the
   *     KMS
   */
  public void rotate(VolumeId id, Credentials user, Operation operation) {
    sessions.with(
        id,
        user,
        volume -> {
          try {
            rotate(volume, operation);
          } finally {
            removeLockObject(volume);
          }
          return null;
        });
  }

  private void rotate(OpenVolume volume, Operation operation) {
    ImageKey key = key(volume);
    ImageSpec image = image(volume);
    // The device is found once, and then named by its path: another image gets that when this one
    // is detached, and a clone has the same key of the data.
    try (OperationRegistry.Hold alone = alone(volume, image, operation)) {
      Path device =
          LuksDevices.find(volume.id().toString())
              .flatMap(LuksDevices::below)
              .filter(below -> isOf(image, below))
              .orElseThrow(() -> refused(volume, "is not staged on this node as an encrypted one"));
      Cryptsetup cryptsetup = new Cryptsetup(volume.id().toString(), device, secrets);
      try (RenewedLock lock = lock(volume)) {
        new SlotRotation(
                key,
                cryptsetup,
                () -> requireLock(lock, volume),
                () -> requireUnshared(volume, key),
                operation::phase)
            .run();
        LOG.info("volume {} has a new passphrase in KMS {}", volume.id(), key.kms().id());
      }
    }
  }

  private static ImageSpec image(OpenVolume volume) {
    IoContext io = volume.pool().io();
    return new ImageSpec(io.pool(), io.namespace(), volume.imageName());
  }

  private static OperationRegistry.Hold alone(
      OpenVolume volume, ImageSpec image, Operation operation) {
    OperationRegistry operations = volume.session().operations();
    return operations.hold(NodeKeys.image(image.toString()), operation.kind());
  }

  private boolean isOf(ImageSpec image, Path device) {
    return attachers.byDevice(device).filter(found -> found.image().equals(image)).isPresent();
  }

  private static ImageKey key(OpenVolume volume) {
    if (!volume.entry().isEncrypted()) {
      throw refused(volume, "is not encrypted");
    }
    if (!EncryptionType.BLOCK.isOf(volume.entry())) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "volume " + volume.id() + " has encrypted files, whose key cannot be changed");
    }
    ImageKey key =
        volume.session().imageKey(volume.id(), volume.pool(), volume.imageId(), volume.entry());
    if (!key.kms().canReplace()) {
      throw refused(
          volume,
          "has the passphrase that all volumes of KMS "
              + key.kms().id()
              + " have: it cannot get one of its own");
    }
    if (key.state() != EncryptionState.ENCRYPTED) {
      throw refused(volume, "was never staged: it has no key yet");
    }
    requireUnshared(volume, key);
    return key;
  }

  /** Refuses while another site may need the passphrase that the KMS has now. */
  private static void requireUnshared(OpenVolume volume, ImageKey key) {
    if (!(key.kms() instanceof KeyStore)) {
      return;
    }
    if (isMirrored(volume)) {
      throw refused(
          volume,
          "is mirrored: a copy that is promoted could have the old passphrase only, and KMS "
              + key.kms().id()
              + " the new one; disable its replication first");
    }
    if (volume.isKeyShared()) {
      throw refused(
          volume,
          "was mirrored until another site may have been promoted, which would have the old"
              + " passphrase only, and KMS "
              + key.kms().id()
              + " the new one: when no other site has the volume, remove "
              + JournalEntry.KEY_SHARED
              + " from its journal entry");
    }
  }

  private static boolean isMirrored(OpenVolume volume) {
    if (volume.pool().mirrorMode() == PoolMirrorMode.DISABLED) {
      return false;
    }
    try (RbdImage image = volume.openReadOnly()) {
      return image.mirroring().isPresent();
    }
  }

  /** The lock that ceph-csi takes for it. */
  private static RenewedLock lock(OpenVolume volume) {
    IoContext io = volume.pool().io();
    String id = volume.id().toString();
    Optional<RenewedLock> lock =
        RenewedLock.take(
            HOLDS,
            () ->
                ObjectLock.tryAcquire(
                    io,
                    id,
                    id + LOCK,
                    id + "-enc-key-rotate",
                    "Key rotation mutex lock for " + id,
                    HOLDS));
    return lock.orElseThrow(
        () ->
            new VolumeException(
                Reason.ABORTED, "the passphrase of volume " + id + " is being changed"));
  }

  /** Removes what the lock was on, unless somebody has taken it since. */
  private static void removeLockObject(OpenVolume volume) {
    IoContext io = volume.pool().io();
    String id = volume.id().toString();
    try (ReadOperation read = new ReadOperation();
        WriteOperation write = new WriteOperation()) {
      long version = io.operateVersioned(id, read.assertExists());
      if (ObjectLock.holders(io, id, id + LOCK).isEmpty()) {
        io.operate(id, write.assertVersion(version).remove());
      }
    } catch (CephException.NotFound e) {
      LOG.debug("there was no lock of {}", id);
    } catch (CephException e) {
      LOG.info("object {} stays in pool {}: {}", id, io.pool(), e.getMessage());
    }
  }

  private static void requireLock(RenewedLock lock, OpenVolume volume) {
    if (lock.isLost()) {
      throw new VolumeException(
          Reason.ABORTED,
          "the lock for the change of the passphrase of volume " + volume.id() + " was lost");
    }
  }

  private static VolumeException refused(OpenVolume volume, String why) {
    return new VolumeException(Reason.FAILED_PRECONDITION, "volume " + volume.id() + " " + why);
  }
}
