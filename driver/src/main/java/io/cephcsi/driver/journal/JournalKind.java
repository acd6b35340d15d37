package io.cephcsi.driver.journal;

import java.util.UUID;

/** What a journal records, and the names of its objects and keys. */
public enum JournalKind {
  /** Volumes. */
  VOLUME("csi.volumes.", "csi.volume.", "csi.volume.", "csi.volname", "csi.imagename"),
  /** Snapshots. */
  SNAPSHOT("csi.snaps.", "csi.snap.", "csi.snap.", "csi.snapname", "csi.imagename"),
  /** Volume groups. */
  GROUP("csi.groups.", "csi.volume.group.", "csi.volume.group.", "csi.volname", "csi.groupname");

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
