package io.cephcsi.driver.journal;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.volume.ListEntry;
import java.util.List;
import java.util.Optional;

/**
 * Reads what names of a journal stand for.
 *
 * @param <T> volumes or snapshots
 */
public interface ListReader<T extends ListEntry> {
  /** The ids of the pools that may have journals of what is listed, sorted. */
  List<Long> journalPools(ClusterView cluster);

  /**
   * Reads a batch.
   *
   * @param journalPool the pool of the directory that has the names
   * @return for each name what it stands for; empty for what is incomplete
   */
  List<Optional<T>> read(ClusterView cluster, IoContext journalPool, List<Name> names);

  /**
   * How many names a batch has at most. Those that an answer has no room for are read for nothing.
   */
  default int batch() {
    return Integer.MAX_VALUE;
  }
}
