package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.InitialSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.KeyOrigin;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.session.AttemptImages;
import io.cephcsi.driver.rbd.session.FlattenPolicy;
import io.cephcsi.driver.rbd.snapshot.NativeSnapshots;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;

/**
 * Creates the image of a volume with a content source.
 *
 * <pre>
 *   from a snapshot:  csi-snap-S@csi-snap-S ← csi-vol-N
 *   from a native one: csi-vol-V@csi-snap-S ← csi-vol-N
 *   from a volume:    csi-vol-V@(trash: csi-vol-N-temp) ← csi-vol-N-temp@(trash: csi-vol-N) ← csi-vol-N
 * </pre>
 *
 * @param pending the volume
 * @param from where its content comes from
 */
record Cloner(PendingVolume pending, ContentSource from) {
  private static final String KIND = "CreateVolume";

  CreatedImage make() {
    requireSameCluster();
    try (OperationRegistry.Hold hold = operations().share(from.id().toString(), KIND)) {
      RbdParameters parameters = pending.request().parameters();
      CloneSource source = CloneSource.require(pending.session(), from, parameters.encryption());
      long expected = size(source.size());
      parameters.requireSize(expected);
      if (parameters.encryption().isEmpty()) {
        return make(source, expected);
      }
      VolumeKey key = source.key(pending.session(), from.id(), parameters);
      try (KeyOrigin origin = key.origin()) {
        CreatedImage image = make(source, expected);
        key.requireUnchanged(origin);
        pending.key(image.id()).adopt(origin);
        return image;
      }
    }
  }

  /** Gives a clone that was made before, and has none, the passphrase of its source. */
  boolean adoptMissingKey(String imageId) {
    RbdParameters parameters = pending.request().parameters();
    CloneSource source = CloneSource.require(pending.session(), from, parameters.encryption());
    try (KeyOrigin origin = source.key(pending.session(), from.id(), parameters).origin()) {
      return pending.key(imageId).adoptIfMissing(origin);
    }
  }

  private CreatedImage make(CloneSource found, long expected) {
    CloneSource source = found.readable("the source " + from.id());
    try {
      if (source.isNative()) {
        cloneNative(source);
      } else if (from instanceof ContentSource.OfSnapshot) {
        cloneSnapshot(source);
      } else {
        cloneVolume(source);
      }
    } catch (CephException.NotFound e) {
      throw sourceMissing(source, e);
    }
    String imageId = CloneSteps.requireId(pending.pool(), pending.image());
    if (from instanceof ContentSource.OfSnapshot) {
      return grown(imageId, source.size(), expected);
    }
    // Somebody may have grown the source before the snapshot was taken.
    long content =
        ImageHeader.read(pending.pool().io(), imageId).map(ImageHeader::size).orElse(source.size());
    return grown(imageId, content, size(content));
  }

  private OperationRegistry operations() {
    return pending.session().operations();
  }

  private CreatedImage grown(String imageId, long content, long size) {
    if (size > content) {
      try (RbdImage image = pending.pool().openById(imageId)) {
        image.resize(size, false, Progress.NONE);
      }
    }
    return new CreatedImage(imageId, size, false);
  }

  /**
   * A source that is there was disturbed: another driver may just have put a native snapshot's
   * image back into the trash, or have removed this attempt's snapshot in one of its own.
   */
  private VolumeException sourceMissing(CloneSource source, CephException.NotFound e) {
    return source.isLive() || source.restoreName() || source.isNative() || source.isOutOfTrash()
        ? new VolumeException(
            Reason.ABORTED, "the source " + from.id() + " was changed: " + e.getMessage(), e)
        : new VolumeException(
            Reason.NOT_FOUND, "the source " + from.id() + " is gone: " + e.getMessage(), e);
  }

  private void requireSameCluster() {
    String cluster = pending.request().parameters().clusterId();
    if (!pending.session().mayHave(from.id())) {
      throw VolumeException.invalid(
          "volume_content_source: "
              + from.id()
              + " is on the cluster \""
              + from.id().clusterId()
              + "\", the volume is to be made on \""
              + cluster
              + "\"");
    }
  }

  /** The content's size, or the larger one that is asked for. */
  private long size(long content) {
    CapacityRange capacity = pending.request().capacity();
    if (capacity.limit() > 0 && content > capacity.limit()) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "the source has " + content + " bytes, more than limit_bytes " + capacity.limit());
    }
    return capacity.required() <= content ? content : capacity.sizeToCreate();
  }

  /** From a snapshot on its volume's image. One call at a time restores an image from the trash. */
  private void cloneNative(CloneSource source) {
    IoContext io = source.pool().io();
    FlattenPolicy bounds = pending.session().bounds();
    int depth = AncestryCheck.require(io, source.imageId(), source.header()) + 1;
    bounds.requireDepth(io, source.image(), source.imageId(), depth);
    Runnable makeClone = () -> makeClone(source, source.entry().name());
    String lock = "image " + source.imageId();
    boolean live;
    try (OperationRegistry.Hold hold = operations().share(lock, KIND)) {
      live = source.isLive() && !source.entry().outOfTrash();
      if (live) {
        makeClone.run();
      }
    }
    if (!live) {
      try (OperationRegistry.Hold hold = operations().hold(lock, KIND)) {
        NativeSnapshots.outOfTrash(source.pool(), source.entry(), makeClone);
      }
    }
    if (bounds.isDeep(depth)) {
      bounds.flatten(io, source.image(), source.imageId());
    }
  }

  private void makeClone(CloneSource source, String snapshot) {
    pending.images().makeClone(source.pool(), source.image(), snapshot, pending.image(), options());
  }

  private ImageOptions options() {
    return CloneSteps.cloneOptions(pending.request().parameters().options());
  }

  private void cloneSnapshot(CloneSource source) {
    IoContext io = source.pool().io();
    FlattenPolicy bounds = pending.session().bounds();
    int depth = AncestryCheck.require(io, source.imageId(), source.header()) + 1;
    bounds.requireDepth(io, source.image(), source.imageId(), depth);
    makeClone(source, source.image());
    if (bounds.isDeep(depth)) {
      bounds.flatten(io, source.image(), source.imageId());
    }
  }

  private void cloneVolume(CloneSource source) {
    IoContext io = source.pool().io();
    FlattenPolicy bounds = pending.session().bounds();
    int depth = AncestryCheck.require(io, source.imageId(), source.header()) + 2;
    bounds.requireDepth(io, source.image(), source.imageId(), depth);
    bounds.requireRoomForSnapshot(io, source.image(), source.imageId(), source.header());
    String temporary = pending.temporary();
    AttemptImages images = pending.images();
    String temporaryId;
    try (RbdImage image = source.pool().open(source.image());
        InitialSnapshot second = InitialSnapshot.prepare(pending.pool())) { // as for a CSI snapshot
      CloneSteps.withSnapshot(
          image,
          temporary,
          () -> images.requireOwnSnapshot(source.pool(), temporary),
          () ->
              images.makeClone(
                  source.pool(), source.image(), temporary, temporary, CloneSteps.INTERMEDIATE));
      temporaryId = CloneSteps.requireId(pending.pool(), temporary);
      cloneTemporary(temporaryId, second);
    }
    if (bounds.isDeep(depth)) {
      bounds.flatten(pending.pool().io(), temporary, temporaryId);
    }
  }

  private void cloneTemporary(String id, InitialSnapshot snapshot) {
    RbdPool pool = pending.pool();
    String temporary = pending.temporary();
    String name = pending.image();
    HeaderAttribute note = IntermediateImage.note(name);
    if (!snapshot.take(id, name, note)) {
      note.write(pool.io(), id);
      CloneSteps.takeSnapshotByLibrbd(pool, temporary, name);
    }
    pending.images().makeClone(pool, temporary, name, name, options());
    CloneSteps.removeSnapshot(pool, temporary, name);
  }
}
