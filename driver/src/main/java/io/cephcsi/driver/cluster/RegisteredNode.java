package io.cephcsi.driver.cluster;

/**
 * A node that is there.
 *
 * @param id the node
 * @param maxVolumes how many volumes it can have; 0 for any number
 * @param volumes the volumes in one pool that it was given, as they are recorded; empty for none
 */
public record RegisteredNode(String id, long maxVolumes, String volumes) {}
