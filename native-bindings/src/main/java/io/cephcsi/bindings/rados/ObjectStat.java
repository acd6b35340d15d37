package io.cephcsi.bindings.rados;

import java.time.Instant;

/**
 * Size and age of an object ({@code rados_stat}).
 *
 * @param size in bytes
 * @param modified when it was last written, to the second
 */
public record ObjectStat(long size, Instant modified) {}
