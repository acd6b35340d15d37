package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import java.util.function.BiConsumer;

/** Walks through the omap of an object of any size, page by page. Safe for several threads. */
public final class OmapWalk {
  private static final int PAGE = 1000;

  private OmapWalk() {}

  /**
   * Visits the keys with a prefix, in the order of their bytes; one round trip for every 1,000.
   * Keys that come or go meanwhile may be visited or not. An object that does not exist, or is in a
   * pool without omaps, has none. Bytes that are no UTF-8 come as U+FFFD, and instead of a value of
   * more than 64 KiB, or of a longer key, which is cut, comes an empty one.
   *
   * @param visitor gets each key, with its prefix, and its value
   * @return false if the walk could not go on behind a key with a zero byte, which others wrote
   */
  public static boolean keys(
      IoContext io, String object, String prefix, BiConsumer<String, byte[]> visitor) {
    String last = "";
    while (true) {
      OmapPage page = page(io, object, prefix, last);
      page.values().forEach(visitor);
      if (!page.more()) {
        return true;
      }
      if (page.last().indexOf(0) >= 0 || page.last().compareTo(last) <= 0) {
        return false;
      }
      last = page.last();
    }
  }

  private static OmapPage page(IoContext io, String object, String prefix, String last) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetValsBehind(last, prefix, PAGE);
      io.operate(object, read);
      return values.get();
    } catch (CephException.NotFound e) {
      return OmapPage.empty();
    } catch (CephException e) {
      if (e.errno() == Errno.EOPNOTSUPP) {
        return OmapPage.empty();
      }
      throw e;
    }
  }
}
