package io.cephcsi.driver.rbd.volume;

/**
 * An image that was created for a volume, and is not in the journal yet.
 *
 * @param id the id that its name leads to
 * @param size in bytes
 * @param own whether the id is known to be that of the image that was made, and not of another that
 *     took its place
 */
record CreatedImage(String id, long size, boolean own) {}
