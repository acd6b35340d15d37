package io.cephcsi.driver.journal;

import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;

/** What a journal records, and the names of its objects and keys. */
public enum JournalKind {
  /** Volumes. */
  VOLUME("csi.volumes.", "csi.volume.", "csi.volume.", "csi.volname", "csi.imagename"),
  /** Snapshots. */
  SNAPSHOT("csi.snaps.", "csi.snap.", "csi.snap.", "csi.snapname", "csi.imagename"),
  /** Volume groups. */
  GROUP("csi.groups.", "csi.volume.group.", "csi.volume.group.", "csi.volname", "csi.groupname");

  private static final Pattern UUID_TEXT =
      Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  private final String directoryPrefix;
  private final String directoryKeyPrefix;
  private final String objectPrefix;
  private final String requestNameKey;
  private final String nameKey;

  JournalKind(
      String directoryPrefix,
      String directoryKeyPrefix,
      String objectPrefix,
      String requestNameKey,
      String nameKey) {
    this.directoryPrefix = directoryPrefix;
    this.directoryKeyPrefix = directoryKeyPrefix;
    this.objectPrefix = objectPrefix;
    this.requestNameKey = requestNameKey;
    this.nameKey = nameKey;
  }

  /** The instance whose directory an object is, by its name; empty for other objects. */
  public Optional<String> instanceOf(String object) {
    return Optional.of(object)
        .filter(name -> name.startsWith(directoryPrefix))
        .map(name -> name.substring(directoryPrefix.length()));
  }

  /** The uuid of the entry that an object is, by its name; empty for other objects. */
  public Optional<UUID> uuidOf(String object) {
    return Optional.of(object)
        .filter(name -> name.startsWith(objectPrefix))
        .map(name -> name.substring(objectPrefix.length()))
        .filter(text -> UUID_TEXT.matcher(text).matches())
        .map(UUID::fromString);
  }

  /** The object whose omap is the directory of an instance. */
  String directory(String instanceId) {
    return directoryPrefix + instanceId;
  }

  /** The directory's key for a request name. */
  String directoryKey(String requestName) {
    return directoryKeyPrefix + requestName;
  }

  /** The object of a uuid. */
  public String object(UUID uuid) {
    return objectPrefix + uuid;
  }

  /** The key that holds the request name in the object of a uuid. */
  String requestNameKey() {
    return requestNameKey;
  }

  /** The key that holds the name on the cluster. */
  String nameKey() {
    return nameKey;
  }
}
