package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The log of NTFS: emptied by other systems, or closed by Windows. */
final class NtfsLog {
  /** Both restart pages lie in it, however large the pages are. */
  private static final int START = 128 << 10;

  private static final int RESTART = 0x52545352;
  private static final int NO_CLIENT = 0xffff;
  private static final int SINGLE_PAGE_WRITES = 1;
  private static final int CLEAN = 2;

  private NtfsLog() {}

  /** Refuses unless no change is left in the log. */
  static void checkClean(NtfsStream log) throws IOException {
    ByteBuffer start = log.read(0, START);
    if (start.getLong(0) == -1 && start.slice(0, START - 8).equals(start.slice(8, START - 8))) {
      return;
    }
    int page = pageSize(start);
    checkClean(start.slice(0, page).order(ByteOrder.LITTLE_ENDIAN));
    ByteBuffer second = start.slice(page, page).order(ByteOrder.LITTLE_ENDIAN);
    if (pageSize(second) != page) {
      throw Refusal.inconsistent("the restart pages of $LogFile differ");
    }
    checkClean(second);
  }

  private static int pageSize(ByteBuffer page) {
    if (page.getInt(0) != RESTART) {
      throw new Refusal(
          RefusalReason.JOURNAL_NOT_EMPTY, "$LogFile is neither empty nor has two restart pages");
    }
    int size = page.getInt(0x10);
    Refusal.require(
        size >= 4096 && size <= START / 2 && Integer.bitCount(size) == 1,
        "$LogFile has restart pages of a wrong size");
    return size;
  }

  private static void checkClean(ByteBuffer page) {
    NtfsFixup.apply(page, "a restart page of $LogFile");
    int minor = page.getShort(0x1A);
    int major = page.getShort(0x1C);
    if (major == 2 && minor == 0) {
      // Windows 8 and later write 1.1 when they unmount; 2.0 is left by its fast startup.
      throw new Refusal(
          RefusalReason.NOT_CLEAN, "Windows was shut down with fast startup and keeps metadata");
    }
    if (major != 1 || minor != 1) {
      throw Refusal.unsupported("$LogFile is of version " + major + "." + minor);
    }
    int area = page.getShort(0x18) & 0xffff;
    Refusal.require(
        area % 8 == 0 && area >= 0x1E && area + 0x30 <= 510, "$LogFile has a wrong restart area");
    int clients = page.getShort(area + 0x0C) & 0xffff;
    int flags = page.getShort(area + 0x0E) & 0xffff;
    if ((flags & ~(SINGLE_PAGE_WRITES | CLEAN)) != 0) {
      throw Refusal.unsupported("$LogFile has flags 0x" + Integer.toHexString(flags));
    }
    if (clients != NO_CLIENT && (flags & CLEAN) == 0) {
      throw new Refusal(
          RefusalReason.JOURNAL_NOT_EMPTY,
          "$LogFile was not closed: the volume is mounted or lost power");
    }
  }
}
