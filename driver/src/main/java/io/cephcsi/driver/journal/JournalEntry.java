package io.cephcsi.driver.journal;

import io.cephcsi.driver.cluster.LateReservation;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * What the journal says of a volume, snapshot or group.
 *
 * @param uuid the uuid in its identifier
 * @param requestName the name that the caller gave it
 * @param name its name on the cluster, such as {@code csi-vol-<uuid>}
 * @param attributes all keys of its object, those of other programs too
 */
public record JournalEntry(
    UUID uuid, String requestName, String name, Map<String, String> attributes) {
  static final String IMAGE_ID = "csi.imageid";
  static final String JOURNAL_POOL = "csi.journalpool";

  /** Who owns the volume: the namespace of its claim. */
  public static final String OWNER = "csi.volume.owner";

  /** What a snapshot was taken of: the name of the volume's image. */
  public static final String SOURCE = "csi.source";

  /** Of a snapshot that stays on its volume's image: the id of that image. */
  public static final String NATIVE_IMAGE = "csi.java.nativeimage";

  static final String NATIVE_SNAPSHOT = "csi.java.nativesnapshot";

  /** What a volume was made from: the identifier of a snapshot or volume. */
  public static final String CONTENT_SOURCE = "csi.java.contentsource";

  /**
   * The identifier of the snapshot that a shallow volume shows; with this key a volume is shallow.
   */
  public static final String BACKING_SNAPSHOT = "csi.volume.backingsnapshotid";

  /** The subvolume that a volume is cloned from, which has a snapshot of the volume's name. */
  public static final String CLONED_SUBVOLUME = "csi.java.clonedsubvolume";

  /** Of a volume that is to be pinned and is not yet: nobody has got it. */
  public static final String UNPINNED = "csi.java.unpinned";

  static final String DELETED = "csi.java.deleted";

  /** Of what is being made: which {@link Attempt} makes it. It goes when it is made. */
  static final String MAKER = LateReservation.MAKER;

  /** Of what is encrypted: which KMS has the passphrase. */
  public static final String ENCRYPTION_KMS = "csi.volume.encryptKMS";

  /** Of what is encrypted: whether blocks or files are. */
  public static final String ENCRYPTION_TYPE = "csi.volume.encryptionType";

  /**
   * Of a volume whose mirroring ended, or whose deletion began, while another site may have had
   * more than a copy that goes with it: when that was, in ISO 8601. That site needs the same
   * passphrase.
   */
  public static final String KEY_SHARED = "csi.java.keyshared";

  /** Of a snapshot that was taken together with others: the identifier of their group. */
  public static final String GROUP_ID = "csi.groupid";

  /** Copies the attributes. */
  public JournalEntry {
    attributes = Map.copyOf(attributes);
  }

  /**
   * Requires that its name is one that drivers give: it ends in the uuid. A call that removes a
   * subvolume or a snapshot by the name in an entry must not remove another's.
   *
   * @return this
   * @throws VolumeException FAILED_PRECONDITION for another name
   */
  public JournalEntry requireOwnName() {
    if (!name.endsWith(uuid.toString())) {
      throw Damage.exception(
          "entry " + uuid, "its name " + PlainText.show(name) + " does not end in the uuid");
    }
    return this;
  }

  /** The id of the RBD image, once it was created. */
  public Optional<String> imageId() {
    return Optional.ofNullable(attributes.get(IMAGE_ID)).filter(id -> !id.isEmpty());
  }

  /**
   * The identifier of the snapshot or volume that a volume was made from, where this driver made
   * it: it still tells after the image was flattened. A key of ours, which ceph-csi does not mind.
   */
  public Optional<String> contentSource() {
    return Optional.ofNullable(attributes.get(CONTENT_SOURCE));
  }

  /** Whether its image, or its snapshot on its volume's image, was recorded as made. */
  public boolean isMade() {
    return imageId().isPresent() || nativeSnapshot().isPresent();
  }

  /** Which attempt makes it; empty for what is made, or is made by other programs. */
  Optional<String> maker() {
    return Optional.ofNullable(attributes.get(MAKER));
  }

  /** Whether what is in it is encrypted. */
  public boolean isEncrypted() {
    return encryptionKms().isPresent();
  }

  /** The id of the KMS that has the passphrase; empty for what is not encrypted. */
  public Optional<String> encryptionKms() {
    return Optional.ofNullable(attributes.get(ENCRYPTION_KMS)).filter(id -> !id.isEmpty());
  }

  /** What is encrypted: {@code block}, as of entries before there was a choice, or {@code file}. */
  public String encryptionType() {
    String type = attributes.getOrDefault(ENCRYPTION_TYPE, "");
    return type.isEmpty() ? "block" : type;
  }

  /** Whether another site may need the same passphrase, see {@link #KEY_SHARED}. */
  public boolean isKeyShared() {
    return attributes.containsKey(KEY_SHARED);
  }

  /** The snapshot that a shallow volume shows; empty for other volumes. */
  public Optional<String> backingSnapshot() {
    return Optional.ofNullable(attributes.get(BACKING_SNAPSHOT)).filter(id -> !id.isEmpty());
  }

  /** The subvolume that a volume is cloned from, where that is a volume. */
  public Optional<String> clonedSubvolume() {
    return Optional.ofNullable(attributes.get(CLONED_SUBVOLUME)).filter(name -> !name.isEmpty());
  }

  /** Whether a volume is to be pinned and is not yet, so that nobody has got it. */
  public boolean isUnpinned() {
    return attributes.containsKey(UNPINNED);
  }

  /** Whether the user deleted a snapshot, which stays for the shallow volumes that show it. */
  public boolean isDeleted() {
    return attributes.containsKey(DELETED);
  }

  /** The pool of the directory, where it is not the image's pool. */
  public OptionalLong journalPoolId() {
    String pool = attributes.get(JOURNAL_POOL);
    return pool == null || pool.isEmpty()
        ? OptionalLong.empty()
        : OptionalLong.of(HexFormat.fromHexDigitsToLong(pool));
  }

  /** Who owns it. */
  public Optional<String> owner() {
    return Optional.ofNullable(attributes.get(OWNER)).filter(owner -> !owner.isEmpty());
  }

  /** The name of the image that a snapshot was taken of. */
  public Optional<String> source() {
    return Optional.ofNullable(attributes.get(SOURCE)).filter(name -> !name.isEmpty());
  }

  /**
   * The id of the volume's image, if this is a snapshot that stays on it and has no image of its
   * own. A key of ours: ceph-csi does not know such snapshots.
   */
  public Optional<String> nativeImage() {
    return Optional.ofNullable(attributes.get(NATIVE_IMAGE)).filter(id -> !id.isEmpty());
  }

  /** The id of such a snapshot on its image, once it was taken. */
  public OptionalLong nativeSnapshot() {
    String id = attributes.get(NATIVE_SNAPSHOT);
    return id == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(id));
  }

  /** The entry of such a snapshot with other ids: its image was replaced by another one. */
  public JournalEntry withNative(String image, long snapshot) {
    return with(Map.of(NATIVE_IMAGE, image, NATIVE_SNAPSHOT, Long.toString(snapshot)));
  }

  /** The entry with another image: the recorded one was replaced. */
  public JournalEntry withImageId(String image) {
    return with(Map.of(IMAGE_ID, image));
  }

  /** The entry with other values of some keys. */
  JournalEntry with(Map<String, String> others) {
    Map<String, String> changed = new HashMap<>(attributes);
    changed.putAll(others);
    return new JournalEntry(uuid, requestName, name, changed);
  }

  /** Whether a driver restored the image of such a snapshot from the trash, or began to. */
  public boolean outOfTrash() {
    return attributes.containsKey(TrashRestoreState.KEY);
  }

  /** Whether a driver has restored it, and none has begun to move it back. */
  public boolean isRestored() {
    return TrashRestoreState.RESTORED.equals(attributes.get(TrashRestoreState.KEY));
  }

  /** The group that a volume is a member of, or that a snapshot was taken with. */
  public Optional<String> groupId() {
    return Optional.ofNullable(attributes.get(GROUP_ID)).filter(id -> !id.isEmpty());
  }
}
