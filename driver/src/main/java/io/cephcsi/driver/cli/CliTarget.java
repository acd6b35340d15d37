package io.cephcsi.driver.cli;

import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.reclaim.ReclaimTarget;
import java.util.Map;
import java.util.Optional;

/**
 * An image that the command line reclaims, over the connection of the command.
 *
 * @param connection opens further connections
 * @param cluster the connection
 * @param io the pool of the image
 */
record CliTarget(ClusterOptions connection, RadosCluster cluster, IoContext io, ImageRef image)
    implements ReclaimTarget {
  @Override
  public String name() {
    return image.toString();
  }

  @Override
  public RbdImage openReadOnly() {
    return new RbdPool(io).openReadOnly(image.image());
  }

  @Override
  public Optional<TrashEntry> inTrash() {
    return TrashDirectory.named(io, image.image());
  }

  @Override
  public Writable open(Map<String, String> options) {
    // A connection of its own: who breaks the lock shuts out this image's work only.
    RadosCluster apart = connection.connect(options);
    try {
      IoContext pool = apart.openPool(io.pool(), io.namespace()).tryWhenFull();
      try {
        return new Open(apart, pool, new RbdPool(pool).open(image.image()));
      } catch (RuntimeException e) {
        pool.close();
        throw e;
      }
    } catch (RuntimeException e) {
      apart.close();
      throw e;
    }
  }

  /** An image with a connection of its own. */
  private record Open(RadosCluster cluster, IoContext io, RbdImage image) implements Writable {
    @Override
    public long clientId() {
      return cluster.instanceId();
    }

    @Override
    public void close() {
      try (cluster;
          io) {
        image.close();
      }
    }
  }
}
