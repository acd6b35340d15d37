package io.cephcsi.driver.node.fscrypt;

import io.cephcsi.bindings.linux.OpenFile;
import java.util.ArrayList;
import java.util.List;

/** What a folder has. */
final class Entries {
  /** More than any folder has that a driver made. */
  private static final int MOST = 100;

  private Entries() {}

  /** The entries of a folder; no more than some are read. */
  static List<OpenFile.Entry> of(OpenFile folder) {
    List<OpenFile.Entry> all = new ArrayList<>();
    try (OpenFile again = folder.childFolder(".")) { // to begin at the first
      List<OpenFile.Entry> next = again.nextEntries();
      while (!next.isEmpty() && all.size() < MOST) {
        all.addAll(next);
        next = again.nextEntries();
      }
    }
    return all;
  }
}
