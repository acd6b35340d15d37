package io.cephcsi.driver.encryption;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What the parameters of a StorageClass, or the context of a volume, say of its encryption. The
 * node gets the same keys as the controller.
 *
 * @param type what is encrypted
 * @param kmsId which KMS keeps the passphrase
 * @param cipher of LUKS; empty for that of cryptsetup
 * @param keyBits of the volume key; empty for those of cryptsetup
 * @param sectorBytes of LUKS; empty for those of cryptsetup
 * @param allowDiscards whether discards pass LUKS: then anybody who reads the pool sees which
 *     blocks are in use
 * @param sourceTenants whose volumes and snapshots a new volume may get its passphrase from besides
 *     those of its own tenant; {@code *} for everybody's
 */
public record EncryptionRequest(
    EncryptionType type,
    String kmsId,
    Optional<String> cipher,
    Optional<String> keyBits,
    Optional<String> sectorBytes,
    boolean allowDiscards,
    Set<String> sourceTenants) {
  /** Names the parameter that names the KMS. */
  public static final String KMS_ID = "encryptionKMSID";

  /**
   * Names what the context of a volume says of its tenant, the namespace of its claim. A
   * PersistentVolume keeps it as it was made; who writes to the pool can change the journal's.
   */
  public static final String TENANT = "encryptionTenant";

  /** Names the parameter that lets discards pass. */
  public static final String ALLOW_DISCARDS = "encryptionAllowDiscards";

  /** Names the parameter that names the tenants whose sources may be copied. */
  public static final String SOURCE_TENANTS = "encryptionSourceTenants";

  /** The least size of a volume with LUKS, in bytes: its header and as much again. */
  public static final long SMALLEST = 32L << 20;

  private static final String CIPHER = "encryptionCipher";
  private static final String KEY_SIZE = "encryptionKeySize";
  private static final String SECTOR_SIZE = "encryptionSectorSize";
  private static final String ALL = "*";
  private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");
  private static final int LONGEST_CLUSTER_ID = 54; // the device mapper's names have 127 bytes
  private static final Set<String> CIPHERS = Set.of("aes-xts-plain64", "serpent-xts-plain64");
  private static final Set<String> KEYS = Set.of("256", "512");
  private static final Set<String> SECTORS = Set.of("512", "1024", "2048", "4096");

  /** Copies the set. */
  public EncryptionRequest {
    sourceTenants = Set.copyOf(sourceTenants);
  }

  /**
   * Reads it.
   *
   * @param field of the request, such as {@code parameters}
   * @return empty for what is not encrypted
   * @throws VolumeException INVALID_ARGUMENT naming the key that is wrong; FAILED_PRECONDITION for
   *     an encryption that this driver does not do
   */
  public static Optional<EncryptionRequest> parse(String field, Map<String, String> values) {
    return parse(field, values, EncryptionType.BLOCK);
  }

  /**
   * As {@link #parse(String, Map)}, of a volume of CephFS, which has no blocks.
   *
   * @throws VolumeException as well INVALID_ARGUMENT for another type, and for ceph-fuse
   */
  public static Optional<EncryptionRequest> parseOfCephFs(
      String field, Map<String, String> values) {
    Optional<EncryptionRequest> wanted = parse(field, values, EncryptionType.FILE);
    if (wanted.isPresent() && wanted.get().isOfBlocks()) {
      throw VolumeException.invalid(
          field + ": encryptionType must be file for CephFS, which has no blocks to encrypt");
    }
    if (wanted.isPresent() && values.getOrDefault("mounter", "").equals("fuse")) {
      throw VolumeException.invalid(
          field + ": mounter must be kernel for encrypted files: ceph-fuse does not encrypt them");
    }
    return wanted;
  }

  private static Optional<EncryptionRequest> parse(
      String field, Map<String, String> values, EncryptionType usual) {
    if (!Booleans.isTrue(field, values, "encrypted")) {
      return Optional.empty();
    }
    EncryptionType type = EncryptionType.parse(field, values, usual);
    if (!values.getOrDefault("integrityMode", "").isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          field
              + ": integrityMode is not supported: a format would write the whole image; remove"
              + " the parameter");
    }
    if (type == EncryptionType.FILE) {
      for (String key : List.of(CIPHER, KEY_SIZE, SECTOR_SIZE)) {
        if (!values.getOrDefault(key, "").isEmpty()) {
          throw VolumeException.invalid(field + ": " + key + " is for encryptionType block only");
        }
      }
    }
    String kms = values.getOrDefault(KMS_ID, "");
    return Optional.of(
        new EncryptionRequest(
            type,
            kms.isEmpty() ? Kms.DEFAULT_ID : kms,
            among(field, values, CIPHER, CIPHERS),
            among(field, values, KEY_SIZE, KEYS),
            among(field, values, SECTOR_SIZE, SECTORS),
            Booleans.isTrue(field, values, ALLOW_DISCARDS),
            sourceTenants(field, values.getOrDefault(SOURCE_TENANTS, ""))));
  }

  private static Set<String> sourceTenants(String field, String value) {
    if (value.isBlank() || value.strip().equals(ALL)) {
      return value.isBlank() ? Set.of() : Set.of(ALL);
    }
    Set<String> tenants = new LinkedHashSet<>();
    for (String name : value.split(",", -1)) {
      if (!NAMESPACE.matcher(name.strip()).matches()) {
        throw VolumeException.invalid(
            field
                + ": "
                + SOURCE_TENANTS
                + " must be * or names of namespaces with commas between them, and "
                + PlainText.show(name.strip())
                + " is none");
      }
      tenants.add(name.strip());
    }
    return tenants;
  }

  /** Whether a new volume may get the passphrase of a source of another tenant. */
  boolean takesFrom(String tenant) {
    return sourceTenants.contains(ALL) || sourceTenants.contains(tenant);
  }

  private static Optional<String> among(
      String field, Map<String, String> values, String key, Set<String> allowed) {
    String value = values.getOrDefault(key, "");
    if (value.isEmpty()) {
      return Optional.empty();
    }
    if (!allowed.contains(value)) {
      throw VolumeException.invalid(
          field
              + ": "
              + key
              + " must be one of "
              + String.join(", ", allowed.stream().sorted().toList())
              + ", not "
              + PlainText.show(value));
    }
    return Optional.of(value);
  }

  /**
   * Requires that a node can name the decrypted device of a volume of a cluster.
   *
   * @throws VolumeException INVALID_ARGUMENT if it cannot
   */
  public void requireShort(String clusterId) {
    if (isOfBlocks() && clusterId.length() > LONGEST_CLUSTER_ID) {
      throw VolumeException.invalid(
          "parameters: clusterID has more than "
              + LONGEST_CLUSTER_ID
              + " characters: the encrypted device could not be named after the volume");
    }
  }

  /** The keys of the journal that record it. */
  public Map<String, String> attributes() {
    return Map.of(JournalEntry.ENCRYPTION_KMS, kmsId, JournalEntry.ENCRYPTION_TYPE, type.word());
  }

  /** What the context of a volume says of its encryption besides the parameters of its class. */
  public static Map<String, String> context(
      Optional<EncryptionRequest> wanted, Optional<String> tenant) {
    return tenant
        .filter(name -> wanted.isPresent())
        .map(name -> Map.of(TENANT, name))
        .orElse(Map.of());
  }

  /** Whether the blocks of the image are encrypted. */
  public boolean isOfBlocks() {
    return type == EncryptionType.BLOCK;
  }

  /** The keys of the journal for a copy of what an entry tells of; none if it is not encrypted. */
  public static Map<String, String> attributesOf(JournalEntry entry) {
    return entry
        .encryptionKms()
        .map(
            kms ->
                Map.of(
                    JournalEntry.ENCRYPTION_KMS,
                    kms,
                    JournalEntry.ENCRYPTION_TYPE,
                    entry.encryptionType()))
        .orElse(Map.of());
  }

  /**
   * Requires that a name was reserved for the same encryption.
   *
   * @param wanted empty for none
   * @throws VolumeException ALREADY_EXISTS if it was not
   */
  public static void requireSame(Optional<EncryptionRequest> wanted, JournalEntry entry) {
    boolean same =
        wanted.map(EncryptionRequest::kmsId).equals(entry.encryptionKms())
            && (wanted.isEmpty() || wanted.get().type().isOf(entry));
    if (!same) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume " + entry.requestName() + " exists and " + describe(entry));
    }
  }

  /**
   * Requires that the name of a snapshot was reserved for the encryption of its volume.
   *
   * @throws VolumeException ALREADY_EXISTS if it was not
   */
  public static void requireOfVolume(JournalEntry snapshot, JournalEntry volume) {
    if (!snapshot.encryptionKms().equals(volume.encryptionKms())) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "snapshot "
              + snapshot.requestName()
              + " exists, and is encrypted otherwise than its volume");
    }
  }

  /**
   * Requires that a copy is encrypted as its source is: ciphertext in a plain volume would look
   * like damage, and plain text in an encrypted one like what is to be formatted.
   *
   * @param what the source, for the message
   * @throws VolumeException INVALID_ARGUMENT if it is not
   */
  public static void requireCopyable(
      Optional<EncryptionRequest> wanted, String what, JournalEntry source) {
    boolean same =
        wanted
            .map(request -> source.isEncrypted() && request.type().isOf(source))
            .orElse(!source.isEncrypted());
    if (!same) {
      throw VolumeException.invalid(
          what
              + " "
              + describe(source)
              + ", and the new volume is to be "
              + wanted
                  .map(request -> "encrypted, " + request.type().word())
                  .orElse("without encryption")
              + ": both must be the same");
    }
  }

  /**
   * Requires that a volume can be used so: files are encrypted by a file system that can.
   *
   * @param block whether it is used as a block device
   * @param fsType empty for any
   * @throws VolumeException INVALID_ARGUMENT if it cannot
   */
  public void requireUse(boolean block, String fsType) {
    if (!isOfBlocks() && (block || !(fsType.isEmpty() || fsType.equals("ext4")))) {
      throw VolumeException.invalid(
          "volume_capability: encryptionType file needs a volume that is mounted with ext4, not "
              + (block ? "a block device" : fsType)
              + "; use encryptionType block");
    }
  }

  private static String describe(JournalEntry entry) {
    return entry
        .encryptionKms()
        .map(
            kms -> "is encrypted by the KMS " + PlainText.show(kms) + ", " + entry.encryptionType())
        .orElse("is not encrypted");
  }
}
