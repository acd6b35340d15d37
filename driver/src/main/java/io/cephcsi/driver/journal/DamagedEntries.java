package io.cephcsi.driver.journal;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leaves damaged journal entries out of lists, so that the others are still listed. Each is logged
 * and counted once, up to a bound. Safe for several threads.
 */
public final class DamagedEntries {
  private static final Logger LOG = LoggerFactory.getLogger(DamagedEntries.class);
  private static final int MAX_SHOWN = 500;
  private static final int MAX_KNOWN = 10_000;
  private static final Set<String> KNOWN = ConcurrentHashMap.newKeySet();
  private static final AtomicLong FOUND = new AtomicLong();

  private DamagedEntries() {}

  /** How many were found since the program started. */
  public static long found() {
    return FOUND.get();
  }

  /**
   * Looks at an entry of a list, or leaves it out when it is damaged. That the cluster does not
   * answer, or the user may not ask, is no damage.
   *
   * @param entry names it, such as {@code rbd: <uuid>}
   */
  public static <T> Optional<T> skip(String entry, Supplier<Optional<T>> look) {
    try {
      return look.get();
    } catch (RuntimeException e) {
      if (!isDamage(e)) {
        throw e;
      }
      report(entry, String.valueOf(e.getMessage()));
      return Optional.empty();
    }
  }

  private static boolean isDamage(RuntimeException e) {
    if (e instanceof VolumeException refusal) {
      return refusal.reason() == Reason.FAILED_PRECONDITION;
    }
    if (e instanceof CephException error) {
      return switch (error.errno()) {
        case EINVAL, EIO, EDOM, ERANGE, ENAMETOOLONG, E2BIG, EFBIG, EOVERFLOW, EILSEQ, ELOOP ->
            true;
        case ENOTDIR, EISDIR, ENXIO, EOPNOTSUPP, EBADMSG -> true;
        default -> false;
      };
    }
    return !Thread.currentThread().isInterrupted();
  }

  /** Says and counts an entry that is damaged. */
  public static void report(String entry, String damage) {
    String name = PlainText.escape(entry, MAX_SHOWN);
    if (KNOWN.size() < MAX_KNOWN && KNOWN.add(name)) {
      FOUND.incrementAndGet();
      boolean fit = damage.length() <= MAX_SHOWN && PlainText.isPlain(damage);
      LOG.warn(
          "lists leave out {}, which is damaged: {}", name, fit ? damage : PlainText.show(damage));
    }
  }
}
