package io.cephcsi.bindings.cls;

/**
 * The group that an image is in, as the image's header refers to it.
 *
 * @param poolId the pool of the group
 * @param groupId the group's id, see {@link GroupHeader#name}
 */
public record GroupLink(long poolId, String groupId) {}
