package io.cephcsi.driver.csiaddons;

import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.cluster.ApartConnection;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.reclaim.ReclaimTarget;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A CSI volume as a target of reclaim.
 *
 * @param image its image
 * @param nodes those that have it by the journal
 * @param trash finds the image in the trash
 * @param key fetches its passphrase, if it is encrypted
 */
record VolumeTarget(
    OpenImage image,
    List<String> nodes,
    Supplier<Optional<TrashEntry>> trash,
    Supplier<Optional<Passphrase>> key)
    implements ReclaimTarget {
  static VolumeTarget of(OpenVolume volume) {
    return new VolumeTarget(volume.image(), volume.nodes(), volume::inTrash, volume::passphrase);
  }

  /** Of a volume that no journal knows. */
  static VolumeTarget of(OpenImage image) {
    return new VolumeTarget(
        image,
        List.of(),
        () -> TrashDirectory.named(image.pool().io(), image.name()),
        Optional::empty);
  }

  @Override
  public String name() {
    return image.volumeId();
  }

  @Override
  public RbdImage openReadOnly() {
    return image.openReadOnly();
  }

  @Override
  public Optional<Passphrase> passphrase() {
    return key.get();
  }

  @Override
  public Optional<TrashEntry> inTrash() {
    return trash.get();
  }

  @Override
  public Writable open(Map<String, String> options) {
    // A connection of its own: a client that breaks the image's lock blocklists this work only.
    ApartConnection connection = image.lease().connectApart(options);
    IoContext io = null;
    try {
      io =
          connection
              .cluster()
              .openPool(image.pool().io().pool(), image.pool().io().namespace())
              .tryWhenFull();
      return new Apart(connection, io, new RbdPool(io).open(image.name()));
    } catch (RuntimeException e) {
      if (io != null) {
        io.close();
      }
      connection.close();
      throw e;
    }
  }

  /** An image with a connection of its own. */
  private record Apart(ApartConnection connection, IoContext io, RbdImage image)
      implements Writable {
    @Override
    public long clientId() {
      return connection.cluster().instanceId();
    }

    @Override
    public void close() {
      try (connection;
          io) {
        image.close();
      }
    }
  }
}
