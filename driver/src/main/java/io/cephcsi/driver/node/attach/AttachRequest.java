package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;

/**
 * An image that is to become a block device.
 *
 * @param cluster where it is
 * @param fsid what that cluster calls itself
 * @param credentials who opens it
 * @param image which one
 * @param readOnly whether the device refuses writes
 * @param mapOptions of the StorageClass, those for this attacher; empty for none
 * @param shared whether other nodes may have it open at the same time (MULTI_NODE_*)
 */
public record AttachRequest(
    ClusterConfig cluster,
    String fsid,
    Credentials credentials,
    ImageSpec image,
    boolean readOnly,
    String mapOptions,
    boolean shared) {}
