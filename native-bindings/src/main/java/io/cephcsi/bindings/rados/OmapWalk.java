package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import java.util.Map;
import java.util.function.BiConsumer;

/** Walks through the omap of an object of any size, page by page. Safe for several threads. */
public final class OmapWalk {
  private static final int PAGE = 1000;
  private static final int LARGEST_PAGE = 64_000;
  private static final char NO_TEXT = '\uFFFD';

  private OmapWalk() {}

  /**
   * Visits the keys with a prefix, in the order of their bytes; one round trip for every 1,000.
   * Keys that come or go meanwhile may be visited or not. An object that does not exist, or is in a
   * pool without omaps, has none.
   *
   * @param visitor gets each key, with its prefix, and its value
   * @return false if the walk could not go on behind keys that are no text, which others wrote
   */
  public static boolean keys(
      IoContext io, String object, String prefix, BiConsumer<String, byte[]> visitor) {
    String after = "";
    int max = PAGE;
    while (true) {
      OmapPage page = page(io, object, prefix, after, max);
      String last = after;
      for (Map.Entry<String, byte[]> entry : page.values().entrySet()) {
        String key = entry.getKey();
        if (key.indexOf(NO_TEXT) < 0) {
          last = key;
        }
      }
      boolean stuck = page.more() && last.equals(after);
      if (stuck && max < LARGEST_PAGE) {
        max *= 8; // perhaps a text follows
        continue;
      }
      visit(page, last, visitor);
      if (!page.more() || stuck) {
        return !stuck;
      }
      after = last;
      max = PAGE;
    }
  }

  /** Of a page that others follow, what is behind the last text comes with the next page. */
  private static void visit(OmapPage page, String last, BiConsumer<String, byte[]> visitor) {
    for (Map.Entry<String, byte[]> entry : page.values().entrySet()) {
      visitor.accept(entry.getKey(), entry.getValue());
      if (page.more() && entry.getKey().equals(last)) {
        return;
      }
    }
  }

  private static OmapPage page(IoContext io, String object, String prefix, String after, int max) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetVals(after, prefix, max);
      io.operate(object, read);
      return values.get();
    } catch (CephException.NotFound e) {
      return new OmapPage(Map.of(), false);
    } catch (CephException e) {
      if (e.errno() == Errno.EOPNOTSUPP) {
        return new OmapPage(Map.of(), false);
      }
      throw e;
    }
  }
}
