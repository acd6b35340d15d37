/**
 * Readers of the free space of unmounted file systems, for offline trim.
 *
 * <p>{@link io.cephcsi.driver.reclaim.fs.FileSystems#inspect} reads the metadata of a block device
 * once, proves that the file system is clean and consistent, and only then answers with the list of
 * free ranges, which was computed from the very bytes that were checked. Everything else is an
 * answer too: {@link io.cephcsi.driver.reclaim.fs.Inspection.Refused}, with a reason. In doubt the
 * readers refuse; they never guess, because what they list is going to be discarded.
 *
 * <p>{@link io.cephcsi.driver.reclaim.fs.FileSystems#survey} also tells what each partition and
 * logical volume holds. What one part refuses leaves the others as they are.
 *
 * <p>The on-disk formats are those of ext2/3/4, of XFS version 4 and 5, of NTFS 3.1, of btrfs, of
 * FAT and exFAT, of swap areas of Linux, of partition tables (GPT and MBR) and of LVM2. The package
 * depends on the JDK only and knows nothing of Ceph. Nothing here is thread-safe unless it says so.
 */
@NullMarked
package io.cephcsi.driver.reclaim.fs;

import org.jspecify.annotations.NullMarked;
