package io.cephcsi.bindings.rados;

import java.util.Map;

/**
 * A page of an omap.
 *
 * @param values by key, in the order of the keys' bytes
 * @param more whether keys follow
 * @param last the last key, with a char for each of its bytes; see {@link
 *     ReadOperation#omapGetValsBehind}
 */
public record OmapPage(Map<String, byte[]> values, boolean more, String last) {
  /** A page without keys. */
  public static OmapPage empty() {
    return new OmapPage(Map.of(), false, "");
  }
}
