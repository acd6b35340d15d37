package io.cephcsi.bindings.cls;

/**
 * Where an image is, as another image's header refers to it.
 *
 * @param poolId the pool's id
 * @param namespace the namespace in the pool; empty for the default one
 * @param imageId the image's id
 */
public record ImageLink(long poolId, String namespace, String imageId) {}
