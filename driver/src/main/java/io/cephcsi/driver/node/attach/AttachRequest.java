package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import java.nio.file.Path;
import java.util.Optional;

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
 * @param log where rbd-nbd writes its log; empty for none
 */
public record AttachRequest(
    ClusterConfig cluster,
    String fsid,
    Credentials credentials,
    ImageSpec image,
    boolean readOnly,
    String mapOptions,
    boolean shared,
    Optional<Path> log) {}
