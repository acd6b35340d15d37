package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.encryption.KeyAccess;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;

/**
 * Finds the content source that a CreateVolume names, and decides between a clone and a shallow
 * volume.
 */
final class VolumeSources {
  private final OpenFileSystem files;
  private final CephFsRequest request;
  private final SnapshotPaths paths;
  private final Trackers trackers;

  VolumeSources(
      OpenFileSystem files, CephFsRequest request, SnapshotPaths paths, Trackers trackers) {
    this.files = files;
    this.request = request;
    this.paths = paths;
    this.trackers = trackers;
  }

  /**
   * Finds the content of the volume.
   *
   * @throws VolumeException NOT_FOUND if the source does not exist; INVALID_ARGUMENT if it is in
   *     another file system or cannot be used so; OUT_OF_RANGE if it is larger than asked;
   *     FAILED_PRECONDITION if a copy is not begun yet and cannot get the pin that is wanted
   */
  VolumeContent find(ContentSource source) {
    requireSameFileSystem(source.id());
    return source instanceof ContentSource.OfSnapshot
        ? ofSnapshot(source.id())
        : ofVolume(source.id());
  }

  private void requireSameFileSystem(VolumeId source) {
    if (source.location() != files.info().id()) {
      throw VolumeException.notFound(
          "volume_content_source " + source + " is not in file system " + files.info().name());
    }
  }

  private VolumeContent ofSnapshot(VolumeId id) {
    JournalEntry entry =
        files
            .snapshots()
            .byUuid(id.uuid())
            // One that its user deleted may still be shown by a volume that this call made before;
            // whether that is so, the addition of the reference tells.
            .filter(
                snapshot ->
                    request.wantsShallow()
                        || !BackingSnapshot.of(files, trackers, id.toString()).isDeleted(snapshot))
            .orElseThrow(() -> missing("snapshot", id));
    return content(id, id.toString(), entry, Optional.empty());
  }

  private VolumeContent ofVolume(VolumeId id) {
    JournalEntry volume =
        files.volumes().byUuid(id.uuid()).orElseThrow(() -> missing("volume", id));
    EncryptionRequest.requireCopyable(
        request.parameters().encryption(), "the source " + id, volume);
    if (volume.backingSnapshot().isPresent()) {
      String snapshotId = volume.backingSnapshot().get();
      JournalEntry snapshot =
          VolumeId.parse(snapshotId)
              .flatMap(parsed -> files.snapshots().byUuid(parsed.uuid()))
              .orElseThrow(() -> missing("volume", id));
      return content(id, snapshotId, snapshot, Optional.of(volume.name()));
    }
    if (request.wantsShallow()) {
      throw VolumeException.invalid(
          "volume_content_source: volume "
              + id
              + " is no shallow volume, so no shallow volume can be made from it; take a"
              + " snapshot of it, or set backingSnapshot to false for a clone");
    }
    requireReadableCopy(id);
    requireFitting(new OpenVolume(id, files, volume).info().quota());
    FirstPin.requirePossible(files, request.pin(), request.name());
    return new VolumeContent.Copied(id.toString(), volume.name(), Optional.empty());
  }

  private VolumeContent content(
      VolumeId source, String snapshotId, JournalEntry snapshot, Optional<String> from) {
    ResolvedSnapshot resolved =
        paths.find(files, snapshot).orElseThrow(() -> missing("volume_content_source", source));
    EncryptionRequest.requireCopyable(
        request.parameters().encryption(), "the source " + source, snapshot);
    if (request.wantsShallow()) {
      request
          .parameters()
          .encryption()
          .ifPresent(wanted -> requireSecret(wanted, source, snapshot));
      return VolumeContent.Shown.of(files, snapshotId, snapshot, resolved, from);
    }
    requireReadableCopy(source);
    requireFitting(resolved.size());
    FirstPin.requirePossible(files, request.pin(), request.name());
    return new VolumeContent.Copied(
        source.toString(), snapshot.source().orElseThrow(), Optional.of(snapshot.name()));
  }

  private void requireSecret(EncryptionRequest wanted, VolumeId source, JournalEntry snapshot) {
    KeyAccess keys = files.keys();
    Optional<String> tenant = request.parameters().owner();
    keys.requireOwnSource(wanted, tenant, "the source " + source, snapshot);
    keys.requireAdoptable(wanted, tenant, keys.fileSecret(files.id(snapshot.uuid()), snapshot));
  }

  /**
   * The manager copies what it sees without the key: ciphertext, with names and sizes that are not
   * those of the files, into a directory that nothing encrypts. Nobody could ever read that.
   */
  private void requireReadableCopy(VolumeId source) {
    if (request.parameters().encryption().isPresent()) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "volume_content_source: Ceph cannot copy "
              + source
              + ", whose files are encrypted, so that they could be read: make a volume that is"
              + " only read (ReadOnlyMany) from a snapshot, which shows it without a copy, or copy"
              + " the files in a pod");
    }
  }

  /** A copy is at least as large as its content. */
  private void requireFitting(long content) {
    CapacityRange capacity = request.capacity();
    long size = capacity.required() > content ? capacity.sizeToCreate() : content;
    if (capacity.limit() > 0 && size > capacity.limit()) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "the content has " + content + " bytes, more than limit_bytes allows");
    }
  }

  private static VolumeException missing(String what, VolumeId id) {
    return VolumeException.notFound(what + " " + id + " does not exist");
  }
}
