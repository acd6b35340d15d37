package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;

/**
 * Finds the file systems on a device and, of those that are certain in all respects, the free
 * ranges.
 *
 * <p>Understood are ext2, ext3, ext4, XFS version 4 and 5, NTFS 3.1, btrfs on a single device,
 * FAT12, FAT16, FAT32, exFAT and Linux swap areas: directly on the device, in partitions of a GPT
 * or an MBR, and in logical volumes of LVM2 that lie on the device as a whole. All metadata that
 * the answer depends on is read once, checked against its checksums and against every counter that
 * says the same in another way, and the ranges are kept in memory: a caller never sees a range of a
 * file system that fails a later check. All inspections of a process share a bound of memory
 * ({@link InspectionMemory}), so that one may have to wait for another.
 *
 * <p>The content must not change meanwhile: the caller holds the image's lock, and took it before
 * the inspection. Btrfs that is mounted, and XFS that is mounted but was not written to, look
 * unmounted; only the lock and the image's watchers tell. What cannot be seen at all is listed in
 * {@code docs/decisions/free-space-readers.md}.
 */
public final class FileSystems {
  private FileSystems() {}

  /**
   * Inspects a device. Blocks for as long as the reads take; thread-safe as far as the reader is.
   *
   * @return the free ranges of all clean file systems, or why there are none
   * @throws IOException if the device cannot be read; nothing is known then
   */
  public static Inspection inspect(BlockReader reader) throws IOException {
    return survey(reader).inspection();
  }

  /**
   * Inspects a device as {@link #inspect}, and tells of each part what it holds.
   *
   * @throws IOException if the device cannot be read; nothing is known then
   */
  public static Survey survey(BlockReader reader) throws IOException {
    try (InspectionMemory memory = InspectionMemory.of(() -> false)) {
      return survey(reader, memory);
    }
  }

  /**
   * Inspects a device as {@link #survey(BlockReader)}.
   *
   * @param memory out of which the free ranges take theirs until it is closed
   * @throws InspectionStopped if it was told to stop while it waited for memory
   * @throws IOException if the device cannot be read; nothing is known then
   */
  public static Survey survey(BlockReader reader, InspectionMemory memory) throws IOException {
    memory.begin();
    Survey survey = new ContentTree(new Device(reader, memory)).survey();
    if (survey.inspection() instanceof Inspection.Clean clean) {
      memory.end(clean.plans());
    } else {
      memory.end();
    }
    return survey;
  }
}
