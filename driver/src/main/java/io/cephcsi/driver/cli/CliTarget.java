package io.cephcsi.driver.cli;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.reclaim.ReclaimTarget;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An image that the command line reclaims, over the connection of the command.
 *
 * @param connector opens further connections
 * @param io the pool of the image
 * @param id of the image, if that is to be opened whatever its name is by then; empty to open it by
 *     its name
 */
record CliTarget(Connector connector, IoContext io, ImageRef image, String id)
    implements ReclaimTarget {
  /** An image by its name. */
  CliTarget(ClusterOptions connection, IoContext io, ImageRef image) {
    this(Connector.each(connection), io, image, "");
  }

  @Override
  public String name() {
    return image.toString();
  }

  @Override
  public RbdImage openReadOnly() {
    RbdPool pool = new RbdPool(io);
    if (id.isEmpty()) {
      ImageId.find(pool, image.image()).ifPresent(of -> AncestryCheck.requireOpenable(io, of));
      return pool.openReadOnly(image.image());
    }
    if (ImageHeader.name(io, id).isEmpty()) { // by its id, one in the trash would be opened, too
      throw VolumeException.notFound(image + " is not there any more");
    }
    AncestryCheck.requireOpenable(io, id);
    return pool.openByIdReadOnly(id);
  }

  /** By the entry of the volume that the image has its name from, beside it. A round trip. */
  @Override
  public List<String> nodes() {
    Journal journal = new Journal(JournalKind.VOLUME, DriverSettings.INSTANCE_ID, io, io);
    return ImageNames.uuidAtEnd(image.image())
        .flatMap(journal::byUuid)
        .filter(entry -> entry.name().equals(image.image()))
        .map(AttachmentJournal::nodes)
        .orElse(List.of());
  }

  @Override
  public Optional<TrashEntry> inTrash() {
    return id.isEmpty() ? TrashDirectory.named(io, image.image()) : Optional.empty();
  }

  @Override
  public Writable open(Map<String, String> options) {
    // A connection of its own: who breaks the lock shuts out this image's work only.
    RadosCluster apart = connector.connect(options);
    try {
      IoContext pool = apart.openPool(io.pool(), io.namespace()).tryWhenFull();
      try {
        RbdPool images = new RbdPool(pool);
        return new Open(
            connector,
            apart,
            pool,
            id.isEmpty() ? images.open(image.image()) : images.openById(id));
      } catch (RuntimeException e) {
        pool.close();
        throw e;
      }
    } catch (RuntimeException e) {
      connector.release(apart);
      throw e;
    }
  }

  /** Opens connections that nothing else uses meanwhile. */
  interface Connector {
    /**
     * A connection with options.
     *
     * @param options further options of Ceph's configuration
     */
    RadosCluster connect(Map<String, String> options);

    /** Takes back a connection that is not used any more. */
    void release(RadosCluster cluster);

    /** A new connection each time. */
    static Connector each(ClusterOptions connection) {
      return new Connector() {
        @Override
        public RadosCluster connect(Map<String, String> options) {
          return connection.connect(options);
        }

        @Override
        public void release(RadosCluster cluster) {
          cluster.close();
        }
      };
    }
  }

  /** An image with a connection of its own. */
  private record Open(Connector connector, RadosCluster cluster, IoContext io, RbdImage image)
      implements Writable {
    @Override
    public long clientId() {
      return cluster.instanceId();
    }

    @Override
    public void close() {
      try (io) {
        image.close();
      } finally {
        connector.release(cluster);
      }
    }
  }
}
