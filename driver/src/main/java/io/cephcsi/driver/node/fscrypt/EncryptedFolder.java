package io.cephcsi.driver.node.fscrypt;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.EncryptionPolicy;
import io.cephcsi.bindings.linux.FileEncryption;
import io.cephcsi.bindings.linux.OpenFile;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of a mounted volume whose files are encrypted, which is what workloads see: ceph-csi's
 * {@code ceph-csi-encrypted}. Beside it, {@code .fscrypt} has the wrapped keys.
 *
 * <pre>
 *   .fscrypt   policy of the folder
 *   no         no     a new volume: both are made, the policy last
 *   yes        yes    the key is found, and given to the kernel
 *   yes        no     a setup was cut off: what it left goes, if nothing else was ever there
 *   no         yes    the key is lost: refused
 * </pre>
 *
 * <p>Whatever is refused, nothing is changed. All methods block on the file system.
 *
 * @param volumeId for messages
 * @param mountPath where the file system of the volume is mounted
 */
public record EncryptedFolder(String volumeId, Path mountPath) {
  /** Its name in the file system. */
  public static final String NAME = "ceph-csi-encrypted";

  private static final Logger LOG = LoggerFactory.getLogger(EncryptedFolder.class);
  private static final String LOST = "lost+found";
  private static final int PERMISSIONS = 0755;
  private static final String NONE =
      "it has no encrypted folder yet, and cannot be written to: stage it once for writing on a"
          + " single node";

  /**
   * Whether it is there and has its key.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is not what a driver makes
   */
  public boolean isUnlocked() {
    return with(
        root -> {
          try (Folder folder = Folder.find(root)) {
            return folder.policy.filter(folder::hasKey).isPresent();
          }
        });
  }

  /**
   * Requires that it is there and has its key.
   *
   * @throws VolumeException FAILED_PRECONDITION when it has not
   */
  public void requireUnlocked() {
    if (!isUnlocked()) {
      throw refused(
          "its folder " + NAME + " is not encrypted, or has no key here: stage the volume again",
          null);
    }
  }

  /**
   * Whether it is there, with its key or without.
   *
   * @throws VolumeException FAILED_PRECONDITION when kernel or file system cannot encrypt
   */
  public boolean isSetUp() {
    return with(
        root -> {
          requireSupport(root);
          try (Folder folder = Folder.find(root)) {
            return folder.policy.isPresent();
          }
        });
  }

  /**
   * Makes it, where the volume is new, on a file system that several nodes mount: the volume is
   * locked before anything of it is looked at.
   *
   * @param secret makes what opens it
   * @throws VolumeException as of {@link #unlock}; ABORTED while another node makes it
   */
  public void setUpAlone(FileSecret secret) {
    with(
        root -> {
          if (!root.tryLock()) {
            throw new VolumeException(
                Reason.ABORTED,
                "another node makes the encrypted folder of volume " + volumeId + "; try again");
          }
          requireSupport(root);
          try (Folder folder = Folder.find(root)) {
            if (folder.policy.isEmpty()) {
              setUp(root, folder, secret);
            }
          }
          return true;
        });
  }

  /**
   * Makes it, where the volume is new, and gives its key to the kernel. May be repeated, also after
   * a crash at any point.
   *
   * @param secret finds what opens it, or makes it
   * @param writable whether a new one may be made
   * @throws VolumeException FAILED_PRECONDITION when kernel or file system cannot encrypt, the
   *     secret does not open it, or it is not what a driver makes; as of the KMS
   */
  public void unlock(FileSecret secret, boolean writable) {
    with(
        root -> {
          try (Folder folder = Folder.find(root)) {
            requireSupport(root);
            if (folder.policy.isPresent()) {
              if (!folder.hasKey(folder.policy.get())) {
                addKey(root, folder.policy.get(), secret);
              }
            } else if (writable) {
              setUp(root, folder, secret);
            } else {
              throw refused(NONE, null);
            }
          }
          return true;
        });
  }

  /**
   * As {@link #unlock}, of one that is there, by its secret in any case: on CephFS the kernel may
   * have the key of another volume of the same directory.
   *
   * @throws VolumeException as of {@link #unlock}
   */
  public void unlockAnew(FileSecret secret) {
    with(
        root -> {
          try (Folder folder = Folder.find(root)) {
            requireSupport(root);
            addKey(root, folder.policy.orElseThrow(() -> refused(NONE, null)), secret);
          }
          return true;
        });
  }

  private void requireSupport(OpenFile root) {
    if (!new FileEncryption(root).isSupported()) {
      throw refused(
          "kernel or file system cannot encrypt files: ext4 must have been made with -O encrypt,"
              + " CephFS needs Linux from 6.6 on, and the kernel CONFIG_FS_ENCRYPTION",
          null);
    }
  }

  private interface Work<T> {
    T on(OpenFile root) throws IOException;
  }

  private <T> T with(Work<T> work) {
    try (OpenFile root = OpenFile.folder(mountPath)) {
      return work.on(root);
    } catch (IOException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    } catch (CephException e) {
      throw switch (e.errno()) {
        case ENOTDIR, ELOOP, EISDIR, ENOTEMPTY, EEXIST, EINVAL, ENOTTY, EOPNOTSUPP ->
            refused(String.valueOf(e.getMessage()), e);
        default -> e;
      };
    }
  }

  private VolumeException refused(String why, @Nullable Exception cause) {
    String message = "the encrypted files of volume " + volumeId + " cannot be used: " + why;
    return cause == null
        ? new VolumeException(Reason.FAILED_PRECONDITION, message)
        : new VolumeException(Reason.FAILED_PRECONDITION, message, cause);
  }

  /** The folder as it was found. */
  private record Folder(Optional<OpenFile> file, Optional<EncryptionPolicy> policy)
      implements AutoCloseable {
    static Folder find(OpenFile root) throws IOException {
      OpenFile found;
      try {
        found = root.childFolder(NAME);
      } catch (CephException.NotFound e) {
        return new Folder(Optional.empty(), Optional.empty());
      }
      try {
        if (!found.stat().isBeside(root.stat())) {
          throw new IOException("something is mounted over its folder " + NAME);
        }
        FileEncryption encryption = new FileEncryption(found);
        return new Folder(
            Optional.of(found), encryption.isSupported() ? encryption.policy() : Optional.empty());
      } catch (IOException | RuntimeException e) {
        found.close();
        throw e;
      }
    }

    boolean hasKey(EncryptionPolicy of) {
      return new FileEncryption(file.orElseThrow()).hasKeyOf(of);
    }

    boolean isEmpty() {
      return file.isEmpty() || Entries.of(file.get()).isEmpty();
    }

    @Override
    public void close() {
      file.ifPresent(OpenFile::close);
    }
  }

  private void addKey(OpenFile root, EncryptionPolicy policy, FileSecret secret)
      throws IOException {
    MetadataFolder.Found found;
    try (MetadataFolder metadata =
        MetadataFolder.find(root)
            .orElseThrow(
                () ->
                    new IOException(
                        "its folder has a policy, and there is no "
                            + MetadataFolder.NAME
                            + " that would have its key"))) {
      found = metadata.read(policy.key());
    }
    byte[] key = new byte[0];
    try (Passphrase passphrase =
        secret
            .find()
            .orElseThrow(
                () -> refused("KMS " + secret.kms().id() + " has no secret of it", null))) {
      key =
          open(found, passphrase)
              .orElseThrow(
                  () ->
                      refused(
                          "the secret of KMS "
                              + secret.kms().id()
                              + " does not open it; nothing was changed",
                          null));
      String named =
          policy.version() == 1 ? FscryptKeys.descriptor(key) : FscryptKeys.identifier(key);
      if (!named.equals(policy.key())) {
        throw new IOException("the key of its policy is another");
      }
      new FileEncryption(root).addKey(policy.version() == 1 ? named : "", key);
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  /** The key of a policy, which the caller wipes; empty when the passphrase opens no protector. */
  private static Optional<byte[]> open(MetadataFolder.Found found, Passphrase passphrase)
      throws IOException {
    byte[] secret = passphrase.bytes();
    boolean damaged = false;
    try {
      for (Protector protector : found.protectors()) {
        Optional<byte[]> opened = protector.open(secret);
        if (opened.isPresent()) {
          Optional<byte[]> key = policyKey(found.policy(), protector, opened.get());
          if (key.isPresent()) {
            return key;
          }
          damaged = true;
        }
      }
    } finally {
      Arrays.fill(secret, (byte) 0);
    }
    if (damaged) {
      throw new IOException("the key of policy " + found.policy().descriptor() + " is damaged");
    }
    return Optional.empty();
  }

  /** Empty when it is damaged where this protector wraps it. */
  private static Optional<byte[]> policyKey(Policy policy, Protector protector, byte[] wrapping) {
    try {
      for (Policy.OfProtector of : policy.keys()) {
        Optional<byte[]> key =
            of.protector().equals(protector.descriptor())
                ? of.key().unwrap(wrapping)
                : Optional.empty();
        if (key.isPresent()) {
          return key;
        }
      }
      return Optional.empty();
    } finally {
      Arrays.fill(wrapping, (byte) 0);
    }
  }

  /** The policy comes last: with it the folder is complete. */
  private void setUp(OpenFile root, Folder folder, FileSecret secret) throws IOException {
    requireNew(root, folder);
    try (Passphrase passphrase = secret.make()) {
      Optional<MetadataFolder> left = MetadataFolder.find(root);
      if (left.isPresent()) {
        try (MetadataFolder cutOff = left.get()) {
          cutOff.removeCutOff();
          LOG.info("volume {}: a setup of its encryption was cut off; it begins anew", volumeId);
        }
      }
      byte[] policyKey = FscryptKeys.random(FscryptKeys.POLICY_BYTES);
      try {
        EncryptionPolicy policy = EncryptionPolicy.usual(FscryptKeys.identifier(policyKey));
        write(root, policy, policyKey, passphrase, secret.isKey(passphrase));
        try (OpenFile made =
            folder.file.isPresent() ? root.childFolder(NAME) : root.makeFolder(NAME, PERMISSIONS)) {
          root.sync();
          FileEncryption encryption = new FileEncryption(made);
          String added = encryption.addKey("", policyKey);
          if (!added.equals(policy.key())) {
            throw new IllegalStateException("the kernel names the key otherwise");
          }
          encryption.setPolicy(policy);
          made.sync();
        }
      } finally {
        Arrays.fill(policyKey, (byte) 0);
      }
    }
  }

  private static void write(
      OpenFile root, EncryptionPolicy policy, byte[] policyKey, Passphrase passphrase, boolean raw)
      throws IOException {
    byte[] secret = passphrase.bytes();
    byte[] key = FscryptKeys.random(FscryptKeys.PROTECTOR_BYTES);
    try {
      Protector protector = Protector.make(secret, raw, key, HashCosts.USUAL);
      WrappedKey wrapped = WrappedKey.wrap(key, policyKey);
      try (MetadataFolder metadata = MetadataFolder.make(root)) {
        metadata.write(Policy.of(policy, protector.descriptor(), wrapped), protector);
      }
    } finally {
      Arrays.fill(secret, (byte) 0);
      Arrays.fill(key, (byte) 0);
    }
  }

  /** Nothing was ever in the volume: what is there is what a setup leaves that was cut off. */
  private static void requireNew(OpenFile root, Folder folder) throws IOException {
    if (!folder.isEmpty()) {
      throw new IOException("its folder " + NAME + " has files that are not encrypted");
    }
    for (OpenFile.Entry entry : Entries.of(root)) {
      if (!List.of(NAME, MetadataFolder.NAME, LOST).contains(entry.name())) {
        throw new IOException("it has files that are not encrypted, beside the folder " + NAME);
      }
      if (entry.name().equals(LOST)) {
        try (OpenFile lost = root.childFolder(LOST)) {
          if (!Entries.of(lost).isEmpty()) {
            throw new IOException(LOST + " has files: somebody is to look at them");
          }
        }
      }
    }
  }
}
