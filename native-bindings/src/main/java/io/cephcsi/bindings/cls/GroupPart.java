package io.cephcsi.bindings.cls;

/**
 * What the header of an image records of a snapshot that is a part of a group's snapshot.
 *
 * @param poolId the pool of the group
 * @param groupId the group's id, see {@link GroupHeader#name}
 * @param snapshotId the id of the group's snapshot, see {@link GroupHeader#hasSnapshot}
 */
public record GroupPart(long poolId, String groupId, String snapshotId) {}
