package io.cephcsi.driver.csiaddons;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.reclaim.ReclaimTarget;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A CSI volume as a target of reclaim.
 *
 * @param volume the volume, which the caller closes
 */
record VolumeTarget(OpenVolume volume) implements ReclaimTarget {
  @Override
  public String name() {
    return volume.id().toString();
  }

  @Override
  public RbdImage openReadOnly() {
    return volume.openReadOnly();
  }

  @Override
  public List<String> nodes() {
    return volume.nodes();
  }

  @Override
  public Optional<TrashEntry> inTrash() {
    return volume.inTrash();
  }

  @Override
  public Writable open(Map<String, String> options) {
    // A connection of its own: a client that breaks the image's lock blocklists this work only.
    RadosCluster cluster = volume.lease().connectApart(options);
    IoContext io = null;
    try {
      io =
          cluster.openPool(volume.pool().io().pool(), volume.pool().io().namespace()).tryWhenFull();
      return new Apart(cluster, io, new RbdPool(io).open(volume.imageName()));
    } catch (RuntimeException e) {
      if (io != null) {
        io.close();
      }
      cluster.close();
      throw e;
    }
  }

  /** An image with a connection of its own. */
  private record Apart(RadosCluster cluster, IoContext io, RbdImage image) implements Writable {
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
