package io.cephcsi.bindings.rbd;

/**
 * A snapshot of an image.
 *
 * @param id the id, unique in the pool
 * @param name the name; a made-up one outside of {@link SnapshotNamespace#USER}
 * @param size the image's size when it was taken, in bytes
 * @param namespace what kind it is
 */
public record ImageSnapshot(long id, String name, long size, SnapshotNamespace namespace) {}
