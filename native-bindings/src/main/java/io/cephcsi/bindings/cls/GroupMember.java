package io.cephcsi.bindings.cls;

/**
 * An image in a group, by its id.
 *
 * @param poolId the image's pool
 * @param imageId the image's id; the image itself may be in the trash, or gone
 * @param attached false while it is being added or removed, or when that was broken off
 */
public record GroupMember(long poolId, String imageId, boolean attached) {}
