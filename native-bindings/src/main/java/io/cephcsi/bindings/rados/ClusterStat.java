package io.cephcsi.bindings.rados;

/**
 * Space of a cluster ({@code rados_cluster_stat_t}), in bytes.
 *
 * @param totalBytes of all devices
 * @param usedBytes in use, all copies counted
 * @param availableBytes free
 * @param objects number of objects
 */
public record ClusterStat(long totalBytes, long usedBytes, long availableBytes, long objects) {}
