package io.cephcsi.driver.cluster;

/**
 * The node that a process serves.
 *
 * @param id the node
 * @param maxVolumes how many volumes it can have; 0 for any number
 */
public record OwnNode(String id, long maxVolumes) {}
