package io.cephcsi.driver.volume;

/** What the content of a new volume comes from. */
public sealed interface ContentSource {
  /** The identifier of the source. */
  VolumeId id();

  /** A snapshot. */
  record OfSnapshot(VolumeId id) implements ContentSource {}

  /** A volume, as it is now. */
  record OfVolume(VolumeId id) implements ContentSource {}
}
