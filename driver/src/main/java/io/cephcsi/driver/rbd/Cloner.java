package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.Ancestry;
import io.cephcsi.bindings.cls.FreshSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes volumes with content.
 *
 * <pre>
 *   from a snapshot:  csi-snap-S@csi-snap-S ← csi-vol-N
 *   from a native one: csi-vol-V@csi-snap-S ← csi-vol-N
 *   from a volume:    csi-vol-V@(trash: csi-vol-N-temp) ← csi-vol-N-temp@(trash: csi-vol-N) ← csi-vol-N
 * </pre>
 */
final class Cloner {
  private static final Logger LOG = LoggerFactory.getLogger(Cloner.class);

  private final String instanceId;
  private final CloneBounds bounds;
  private final OperationRegistry operations;

  Cloner(String instanceId, CloneBounds bounds, OperationRegistry operations) {
    this.instanceId = instanceId;
    this.bounds = bounds;
    this.operations = operations;
  }

  /** An image that content comes from, and how much of it. */
  private record Source(
      RbdPool pool, JournalEntry entry, String imageId, ImageHeader header, long size) {
    String image() {
      return entry.nativeImage().isPresent() ? entry.source().orElseThrow() : entry.name();
    }
  }

  /** Makes the image of a volume with content. */
  MadeImage make(VolumeMaking making, ContentSource from) {
    requireSameCluster(making, from.id());
    try (OperationRegistry.Hold hold = operations.share(from.id().toString(), "CreateVolume")) {
      Source source = find(making, from);
      long expected = size(making.capacity(), source.size());
      making.parameters().requireSize(expected);
      try {
        if (source.entry().nativeImage().isPresent()) {
          cloneNative(making, source);
        } else if (from instanceof ContentSource.OfSnapshot) {
          cloneSnapshot(making, source);
        } else {
          cloneVolume(making, source);
        }
      } catch (CephException.NotFound e) {
        throw sourceMissing(from, source, e);
      }
      String imageId = CloneWorkshop.requireId(making.pool(), making.image());
      if (from instanceof ContentSource.OfSnapshot) {
        return grown(making, imageId, source.size(), expected);
      }
      // Somebody may have grown the source before the snapshot was taken.
      long content =
          ImageHeader.read(making.pool().io(), imageId)
              .map(ImageHeader::size)
              .orElse(source.size());
      return grown(making, imageId, content, size(making.capacity(), content));
    }
  }

  private static MadeImage grown(VolumeMaking making, String imageId, long content, long size) {
    if (size > content) {
      try (RbdImage image = making.pool().openById(imageId)) {
        image.resize(size, false, Progress.NONE);
      }
    }
    return new MadeImage(imageId, size, false);
  }

  /**
   * A source that is there was disturbed: another driver may just have put a native snapshot's
   * image back into the trash, or have taken this attempt over and removed its snapshot.
   */
  private static VolumeException sourceMissing(
      ContentSource from, Source source, CephException.NotFound e) {
    return source.entry().nativeImage().isPresent() || isLive(source)
        ? new VolumeException(
            Reason.ABORTED, "the source " + from.id() + " was changed: " + e.getMessage(), e)
        : new VolumeException(
            Reason.NOT_FOUND, "the source " + from.id() + " is gone: " + e.getMessage(), e);
  }

  private static void requireSameCluster(VolumeMaking making, VolumeId source) {
    if (!source.clusterId().equals(making.parameters().clusterId())) {
      throw VolumeException.invalid(
          "volume_content_source: "
              + source
              + " is on the cluster \""
              + source.clusterId()
              + "\", the volume is to be made on \""
              + making.parameters().clusterId()
              + "\"");
    }
  }

  /** The content's size, or the larger one that is asked for. */
  static long size(CapacityRange capacity, long content) {
    if (capacity.limit() > 0 && content > capacity.limit()) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "the source has " + content + " bytes, more than limit_bytes " + capacity.limit());
    }
    return capacity.required() <= content ? content : capacity.sizeToCreate();
  }

  private Source find(VolumeMaking making, ContentSource from) {
    Optional<Found> entry = entry(making, from);
    entry.ifPresent(found -> Encryption.requireNone("the source " + from.id(), found.entry()));
    return entry
        .flatMap(
            found -> found.entry().nativeImage().isPresent() ? ofNative(found) : ofImage(found))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    (from instanceof ContentSource.OfSnapshot ? "snapshot " : "volume ")
                        + from.id()
                        + " does not exist"));
  }

  private static Optional<Source> ofImage(Found found) {
    return FoundImage.of(found.pool(), found.entry())
        .map(
            image ->
                new Source(
                    found.pool(),
                    found.entry(),
                    image.id(),
                    image.header(),
                    image.header().size()));
  }

  /** A snapshot on its volume's image, which may have another size by now. */
  private static Optional<Source> ofNative(Found found) {
    IoContext io = found.pool().io();
    return NativeSnapshots.find(io, found.entry())
        .flatMap(
            snapshot -> {
              String id = found.entry().nativeImage().orElseThrow();
              return ImageHeader.read(io, id)
                  .map(
                      header ->
                          new Source(found.pool(), found.entry(), id, header, snapshot.size()));
            });
  }

  private Optional<Found> entry(VolumeMaking making, ContentSource from) {
    return entry(
        making,
        from instanceof ContentSource.OfSnapshot ? JournalKind.SNAPSHOT : JournalKind.VOLUME,
        from.id());
  }

  private Optional<Found> entry(VolumeMaking making, JournalKind kind, VolumeId id) {
    IoContext io;
    try {
      io = making.lease().rbdPool(id.location());
    } catch (CephException.NotFound e) {
      return Optional.empty(); // the pool is gone
    }
    return new Journal(kind, instanceId, io, io)
        .byUuid(id.uuid())
        .map(entry -> new Found(new RbdPool(io), entry));
  }

  /** A source that the journal knows. */
  private record Found(RbdPool pool, JournalEntry entry) {}

  /** From a snapshot on its volume's image. An image in the trash is taken out by one at a time. */
  private void cloneNative(VolumeMaking making, Source source) {
    IoContext io = source.pool().io();
    int depth = Ancestry.require(io, source.imageId(), source.header()) + 1;
    bounds.requireDepth(making.leases(), io, source.image(), source.imageId(), depth);
    Runnable makeClone =
        () ->
            CloneWorkshop.makeClone(
                source.pool(),
                source.image(),
                source.entry().name(),
                making.pool(),
                making.image(),
                CloneWorkshop.cloneOptions(making.parameters().options()),
                making.leftovers());
    String lock = "image " + source.imageId();
    boolean live;
    try (OperationRegistry.Hold hold = operations.share(lock, "CreateVolume")) {
      live = isLive(source) && !source.entry().outOfTrash();
      if (live) {
        makeClone.run();
      }
    }
    if (!live) {
      try (OperationRegistry.Hold hold = operations.hold(lock, "CreateVolume")) {
        NativeSnapshots.outOfTrash(source.pool(), source.entry(), makeClone);
      }
    }
    if (bounds.isDeep(depth)) {
      bounds.flatten(making.leases(), io, source.image(), source.imageId());
    }
  }

  private static boolean isLive(Source source) {
    return ImageId.find(source.pool(), source.image()).equals(Optional.of(source.imageId()));
  }

  private void cloneSnapshot(VolumeMaking making, Source source) {
    int depth = Ancestry.require(source.pool().io(), source.imageId(), source.header()) + 1;
    bounds.requireDepth(making.leases(), source.pool().io(), source.image(), depth);
    CloneWorkshop.makeClone(
        source.pool(),
        source.image(),
        source.image(),
        making.pool(),
        making.image(),
        CloneWorkshop.cloneOptions(making.parameters().options()),
        making.leftovers());
    if (bounds.isDeep(depth)) {
      bounds.flatten(making.leases(), source.pool().io(), source.image());
    }
  }

  private void cloneVolume(VolumeMaking making, Source source) {
    IoContext io = source.pool().io();
    int depth = Ancestry.require(io, source.imageId(), source.header()) + 2;
    bounds.requireDepth(making.leases(), io, source.image(), depth);
    bounds.requireRoomForSnapshot(
        making.leases(), io, source.image(), source.imageId(), source.header());
    String temporary = VolumeMaking.temporary(making.image());
    try (RbdImage image = source.pool().open(source.image());
        FreshSnapshot second = FreshSnapshot.prepare(making.pool())) { // as for a CSI snapshot
      CloneWorkshop.withSnapshot(
          image,
          temporary,
          () -> making.leftovers().requireOwnSnapshot(source.pool(), temporary),
          () ->
              CloneWorkshop.makeClone(
                  source.pool(),
                  source.image(),
                  temporary,
                  making.pool(),
                  temporary,
                  CloneWorkshop.INTERMEDIATE,
                  making.leftovers()));
      cloneTemporary(making, temporary, second);
    }
    if (bounds.isDeep(depth)) {
      bounds.flatten(making.leases(), making.pool().io(), temporary);
    }
  }

  private static void cloneTemporary(
      VolumeMaking making, String temporary, FreshSnapshot snapshot) {
    RbdPool pool = making.pool();
    String name = making.image();
    CloneWorkshop.takeSnapshot(
        pool, temporary, CloneWorkshop.requireId(pool, temporary), name, snapshot);
    CloneWorkshop.makeClone(
        pool,
        temporary,
        name,
        pool,
        name,
        CloneWorkshop.cloneOptions(making.parameters().options()),
        making.leftovers());
    CloneWorkshop.removeSnapshot(pool, temporary, name);
  }

  /**
   * Removes what attempts left of a clone of a volume. A volume in another pool that only the entry
   * names is left alone: who may write to the entry may have no right to that pool.
   *
   * @param volume the volume; what is that of a snapshot has left nothing
   * @throws VolumeException ABORTED if another attempt has taken over
   */
  void removeTemporary(VolumeMaking making, VolumeId volume) {
    String temporary = VolumeMaking.temporary(making.image());
    making.leftovers().discard(making.pool(), temporary, true);
    Optional<Found> found = entry(making, JournalKind.VOLUME, volume);
    if (found.isEmpty()) {
      return;
    }
    RbdPool pool = found.get().pool();
    String image = found.get().entry().name();
    boolean own =
        making.attempt().isIn(pool.io())
            || (making.sourceId().equals(Optional.of(volume.toString()))
                && making.leftovers().mayRemoveSnapshot(pool));
    if (own) {
      CloneWorkshop.removeLeftSnapshot(pool, image, temporary);
    } else {
      LOG.warn(
          "snapshot {} of image {} in pool {} stays, if there is one",
          temporary,
          image,
          pool.io().pool());
    }
  }

  /**
   * Requires that an existing volume was made from the source that is asked for. The journal tells;
   * of a volume that another driver made its parents tell, unless it has been flattened since.
   *
   * @throws VolumeException ALREADY_EXISTS if it was not, or nobody can tell
   */
  void requireSameSource(VolumeMaking making, ImageHeader header) {
    Optional<ContentSource> wanted = making.source();
    Optional<String> recorded = making.entry().contentSource();
    boolean same =
        recorded.isPresent()
            ? wanted.map(source -> source.id().toString()).equals(recorded)
            : wanted.isEmpty()
                ? header.parent().isEmpty()
                : header.parent().isPresent()
                    && isFrom(making, header.parent().get(), wanted.get());
    if (!same) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + making.entry().requestName()
              + " exists and was not made from "
              + wanted.map(source -> source.id().toString()).orElse("nothing"));
    }
  }

  private boolean isFrom(VolumeMaking making, ImageLink parent, ContentSource wanted) {
    if (wanted instanceof ContentSource.OfSnapshot) {
      return parent.poolId() == wanted.id().location() && isImageOf(making, parent, wanted);
    }
    String temporary = VolumeMaking.temporary(making.image());
    IoContext io = making.pool().io();
    if (!ImageId.find(making.pool(), temporary).equals(Optional.of(parent.imageId()))) {
      return false;
    }
    Optional<ImageLink> origin =
        ImageHeader.read(io, parent.imageId()).flatMap(ImageHeader::parent);
    // The temporary image is ours to flatten; then it stands for its source.
    return origin.isEmpty()
        || (origin.get().poolId() == wanted.id().location()
            && isImageOf(making, origin.get(), wanted));
  }

  /** Whether an image is that of a source, which may be deleted and in the trash by now. */
  private boolean isImageOf(VolumeMaking making, ImageLink image, ContentSource source) {
    Optional<Found> found = entry(making, source);
    if (found.isPresent()) {
      return found.get().entry().imageId().equals(Optional.of(image.imageId()));
    }
    return new RbdPool(making.lease().rbdPool(source.id().location()))
        .trashEntry(image.imageId())
        .map(TrashEntry::name)
        .filter(name -> name.endsWith(source.id().uuid().toString()))
        .isPresent();
  }
}
