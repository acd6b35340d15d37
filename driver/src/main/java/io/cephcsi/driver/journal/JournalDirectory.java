package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapPage;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The names of one kind and instance in one pool, read page by page for lists. For a known name or
 * uuid use {@link Journal} instead. Safe for several threads.
 */
public final class JournalDirectory {
  private static final int MOST = 50_000;
  private static final char NO_TEXT = '\uFFFD';

  private final IoContext pool;
  private final String object;
  private final String keyPrefix;

  /**
   * @param kind what is recorded
   * @param instanceId tells several drivers on one pool apart
   * @param pool the journal's pool
   */
  public JournalDirectory(JournalKind kind, String instanceId, IoContext pool) {
    this.pool = pool;
    this.object = kind.directory(instanceId);
    this.keyPrefix = kind.directoryKey("");
  }

  /** Whether a driver of the instance has ever recorded anything here; one round trip. */
  public boolean isThere() {
    return pool.exists(object);
  }

  /**
   * Reads names in the order of their bytes; one round trip.
   *
   * @param after begin behind this name, whether it still exists or not; empty to begin
   * @param max how many at most; the cluster may give fewer
   */
  public Page page(String after, int max) {
    String behind = new String((keyPrefix + after).getBytes(UTF_8), ISO_8859_1);
    int looked = 0;
    for (int most = max; ; most = Math.min(most * 8, MOST)) {
      OmapPage omap = read(behind, most);
      Page page = decode(after, omap);
      if (!page.more() || !page.last().equals(after)) {
        return page;
      }
      if (omap.last().indexOf(0) >= 0) {
        looked += most; // nobody goes on behind it: the next page is a larger one
      } else {
        looked += omap.values().size();
        behind = omap.last();
      }
      if (looked > MOST) { // of keys without a single name, which no driver wrote
        DamagedEntries.report("pool " + pool.pool() + ": " + object, "too many keys are no names");
        return new Page(page.names(), after, false);
      }
    }
  }

  private OmapPage read(String behind, int max) {
    OmapPage none = OmapPage.empty();
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetValsBehind(behind, keyPrefix, max);
      pool.operate(object, read);
      return values.get();
    } catch (CephException.NotFound e) {
      return none;
    } catch (CephException e) {
      if (e.errno() == Errno.EOPNOTSUPP) {
        return none; // an erasure coded pool: no journal can be here
      }
      throw e;
    }
  }

  private Page decode(String after, OmapPage omap) {
    List<Name> names = new ArrayList<>();
    String last = after;
    for (Map.Entry<String, byte[]> entry : omap.values().entrySet()) {
      String name = entry.getKey().substring(keyPrefix.length());
      if (!isName(name)) { // nor can a list go on behind it
        DamagedEntries.report(
            "pool " + pool.pool() + ": " + PlainText.show(name), "this is no name");
        continue;
      }
      String stored = new String(entry.getValue(), UTF_8);
      try {
        DirectoryValue value = DirectoryValue.decode(stored, pool.poolId());
        names.add(new Name(name, value.uuid(), value.poolId()));
      } catch (VolumeException e) {
        DamagedEntries.report("pool " + pool.pool() + ": " + name, String.valueOf(e.getMessage()));
      }
      last = name;
    }
    return new Page(names, last, omap.more());
  }

  /**
   * Whether a key can be read again by its name: that of others may be no text at all, or of any
   * length.
   */
  private static boolean isName(String name) {
    return name.length() <= Damage.MAX_BYTES
        && PlainText.isPlain(name)
        && name.indexOf(NO_TEXT) < 0;
  }

  /**
   * A part of the directory.
   *
   * @param names the names in it, in the order of their bytes
   * @param last the last name that was looked at
   * @param more whether names follow
   */
  public record Page(List<Name> names, String last, boolean more) {
    /** Copies the list. */
    public Page {
      names = List.copyOf(names);
    }
  }

  /**
   * A reserved name.
   *
   * @param requestName the name that the caller gave
   * @param uuid what it stands for
   * @param poolId the pool of the image and of the uuid's object
   */
  public record Name(String requestName, UUID uuid, long poolId) {}
}
