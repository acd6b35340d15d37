package io.cephcsi.driver.volume;

import java.time.Instant;

/**
 * A snapshot as CreateSnapshot answers it; it is ready to use.
 *
 * @param id its identifier
 * @param source the volume that it was taken of
 * @param size of the volume then, in bytes
 * @param createdAt when
 */
public record CreatedSnapshot(VolumeId id, VolumeId source, long size, Instant createdAt) {}
