package io.cephcsi.driver.journal;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.volume.ListEntry;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of a list: the directories of all pools of all clusters that the driver has credentials
 * for, clusters by id (of a caller, those that share a journal one after the other), pools by id,
 * names in the order of {@link NameCursor}.
 *
 * <p>An entry that stays while pages are read is on exactly one of them, whatever else comes and
 * goes. A page costs two round trips to the monitors of each cluster, one for each pool without
 * such a directory, one for every 1,000 names, and what the reader says for each entry; one entry
 * more than asked is read, to know whether there is a next page. A page ends earlier where the
 * answer would be too large for clients; it has one entry at least. In memory are one page of names
 * and the answer. A pool that the user may not read is left out, and so is a group of CephFS
 * subvolumes where a caller may read another of the same journal; a journal where he may read
 * nothing is an error.
 *
 * @param <T> volumes or snapshots
 */
public final class Listing<T extends ListEntry> {
  /** The most entries in one answer. */
  public static final int MAX_ENTRIES = 5000;

  /** How many bytes an answer has at most, by estimate: clients of gRPC take 4 MiB. */
  static final int MAX_BYTES = 3 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Listing.class);

  private final DriverConnections access;
  private final ClusterExecutors executors;
  private final JournalKind kind;
  private final String instanceId;
  private final ListReader<T> reader;
  private final int max;
  private final List<T> entries = new ArrayList<>();
  private Optional<ListPosition> from;
  private Optional<ListPosition> last = Optional.empty();
  private int bytes;

  /** Whether there is an entry for the next page. */
  private boolean full;

  private boolean readable;
  private CephException.@Nullable Denied denied;

  /**
   * @param access the clusters
   * @param executors threads to read with
   * @param kind what is listed
   * @param instanceId tells several drivers on one pool apart
   * @param reader reads what names stand for
   * @param maxEntries how many entries at most; 0 for as many as an answer can hold
   * @param token where to go on; empty to begin
   * @throws VolumeException ABORTED when the token is not good, INVALID_ARGUMENT when maxEntries is
   *     negative
   */
  public Listing(
      DriverConnections access,
      ClusterExecutors executors,
      JournalKind kind,
      String instanceId,
      ListReader<T> reader,
      int maxEntries,
      String token) {
    if (maxEntries < 0) {
      throw VolumeException.invalid("max_entries must not be negative");
    }
    this.access = access;
    this.executors = executors;
    this.kind = kind;
    this.instanceId = instanceId;
    this.reader = reader;
    this.max = maxEntries == 0 ? MAX_ENTRIES : Math.min(maxEntries, MAX_ENTRIES);
    this.from = token.isEmpty() ? Optional.empty() : Optional.of(ListPosition.parse(kind, token));
  }

  /** Reads the page. */
  public ListPage<T> read() {
    for (List<ClusterConfig> journal : journalsToRead()) {
      readable = false;
      denied = null;
      journal.forEach(this::read);
      if (denied != null && !readable) {
        throw denied; // some pools and groups may be for others, but not all
      }
    }
    return new ListPage<>(entries, full ? last.map(ListPosition::token).orElseThrow() : "");
  }

  private List<List<ClusterConfig>> journalsToRead() {
    List<List<ClusterConfig>> journals = new ArrayList<>(access.allJournals());
    if (from.isEmpty()) {
      return journals;
    }
    for (int i = 0; i < journals.size(); i++) {
      List<ClusterConfig> clusters = journals.get(i);
      for (int j = 0; j < clusters.size(); j++) {
        if (from.get().isIn(clusters.get(j).clusterId())) {
          journals.set(i, clusters.subList(j, clusters.size()));
          return journals.subList(i, journals.size());
        }
      }
    }
    throw new VolumeException(
        Reason.ABORTED, "starting_token: its cluster is not configured any more; start again");
  }

  private void read(ClusterConfig cluster) {
    if (full) {
      return;
    }
    access.connected(
        cluster,
        lease -> {
          ParallelReads reads =
              new ParallelReads(executors.reads(access.storage(), cluster.clusterId()));
          read(ClusterView.of(lease, reads));
          return null;
        });
    from = Optional.empty();
  }

  private void read(ClusterView cluster) {
    for (long pool : reader.journalPools(cluster)) {
      long start = from.map(ListPosition::poolId).orElse(Long.MIN_VALUE);
      if (!full && pool >= start) {
        cluster.io(access.storage(), pool).ifPresent(io -> readPool(cluster, io));
      }
    }
  }

  private void readPool(ClusterView cluster, IoContext io) {
    try {
      NameCursor walk =
          new NameCursor(
              new JournalDirectory(kind, instanceId, io),
              from.filter(position -> position.poolId() == io.poolId()));
      List<Name> names = walk.next(missing());
      while (!names.isEmpty()) {
        add(cluster, io, names);
        names = full ? List.of() : walk.next(missing());
      }
      readable = true;
    } catch (CephException.Denied e) {
      LOG.debug("pool {} is left out, as it cannot be read: {}", io.pool(), e.getMessage());
      denied = e;
    }
  }

  private int missing() {
    return Math.min(max + 1 - entries.size(), reader.batch());
  }

  private void add(ClusterView cluster, IoContext io, List<Name> names) {
    List<Optional<T>> read = reader.read(cluster, io, names);
    for (int i = 0; i < names.size() && !full; i++) {
      if (read.get(i).isPresent()) {
        add(read.get(i).get(), cluster, io, names.get(i));
      }
    }
  }

  private void add(T entry, ClusterView cluster, IoContext io, Name name) {
    int size = entry.bytes();
    full = entries.size() == max || (!entries.isEmpty() && bytes + size > MAX_BYTES);
    if (!full) {
      entries.add(entry);
      bytes += size;
      last =
          Optional.of(
              ListPosition.behind(kind, cluster.clusterId(), io.poolId(), name.requestName()));
    }
  }
}
