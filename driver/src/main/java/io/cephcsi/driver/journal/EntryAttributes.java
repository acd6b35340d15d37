package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The keys of an entry's object. */
final class EntryAttributes {
  private static final int PAGE = 1000;
  private static final int MAX_PAGES = 21; // then it is damaged
  private static final int MAX_CHARS = 2 << 20; // 16 entries are read at once

  private EntryAttributes() {}

  /**
   * All keys and values; one round trip for every 1000, or 1 MiB.
   *
   * @throws CephException.NotFound if there is no such object
   * @throws VolumeException FAILED_PRECONDITION for a key that nobody can go on behind, one that is
   *     too large, and more than 2 MiB of them
   */
  static Map<String, String> read(IoContext pool, String object) {
    Map<String, String> attributes = new LinkedHashMap<>();
    String after = "";
    boolean more = true;
    int pages = 0;
    long chars = 0;
    while (more && pages++ < MAX_PAGES) {
      try (ReadOperation read = new ReadOperation()) {
        var page = read.omapGetVals(after, "", PAGE);
        pool.operate(object, read);
        for (Map.Entry<String, byte[]> value : page.get().values().entrySet()) {
          String text = new String(value.getValue(), UTF_8);
          after = value.getKey();
          chars += after.length() + text.length();
          attributes.put(after, text);
        }
        if (chars > MAX_CHARS) {
          throw Damage.exception(object, "its keys and values have more than 2 MiB");
        }
        more = page.get().more();
        if (more && !PlainText.isPlain(after)) {
          throw Damage.exception(object, "the key " + PlainText.show(after));
        }
      } catch (CephException.TooLarge e) {
        throw Damage.exception(object, e);
      }
    }
    return attributes;
  }

  /** Keys and values as they are written. */
  static Map<String, byte[]> bytes(Map<String, String> attributes) {
    Map<String, byte[]> bytes = new LinkedHashMap<>();
    attributes.forEach((key, value) -> bytes.put(key, value.getBytes(UTF_8)));
    return bytes;
  }
}
