package io.cephcsi.driver.cephfs;

import java.time.Instant;

/**
 * Where a snapshot is in the file system, as it was seen there.
 *
 * @param root the directory to mount: that of the subvolume, which outlives it
 * @param path of the data: the root, and below it {@code .snap/<snapshot>/<uuid>}
 * @param size the quota of the subvolume at the time, in bytes; 0 without one
 * @param createdAt when it was taken, in whole seconds
 */
record ResolvedSnapshot(String root, String path, long size, Instant createdAt) {}
