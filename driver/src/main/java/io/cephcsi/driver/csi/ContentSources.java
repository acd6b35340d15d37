package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import java.util.Optional;

/** Decodes where a new volume's content comes from. */
final class ContentSources {
  private ContentSources() {}

  /**
   * The source that a request names.
   *
   * @throws VolumeException INVALID_ARGUMENT when it has no id, NOT_FOUND when that does not parse
   */
  static Optional<ContentSource> of(CreateVolumeRequest request) {
    if (!request.hasVolumeContentSource()) {
      return Optional.empty();
    }
    VolumeContentSource source = request.getVolumeContentSource();
    return switch (source.getTypeCase()) {
      case SNAPSHOT ->
          Optional.of(
              new ContentSource.OfSnapshot(
                  id(
                      source.getSnapshot().getSnapshotId(),
                      "volume_content_source.snapshot.snapshot_id")));
      case VOLUME ->
          Optional.of(
              new ContentSource.OfVolume(
                  id(source.getVolume().getVolumeId(), "volume_content_source.volume.volume_id")));
      case TYPE_NOT_SET ->
          throw VolumeException.invalid(
              "volume_content_source: a snapshot or a volume is required in it");
    };
  }

  private static VolumeId id(String text, String field) {
    return VolumeId.parse(required(text, field))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    field + " " + text + " does not exist: this is no id of this driver"));
  }
}
