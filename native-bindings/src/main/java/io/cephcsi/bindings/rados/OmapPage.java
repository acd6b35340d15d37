package io.cephcsi.bindings.rados;

import java.util.Map;

/**
 * A page of an omap.
 *
 * @param values by key, in the order of the keys' bytes
 * @param more whether keys follow
 */
public record OmapPage(Map<String, byte[]> values, boolean more) {}
