package io.cephcsi.driver.volume;

import java.time.Instant;
import java.util.Optional;

/**
 * A snapshot as lists show it; it is ready to use.
 *
 * @param id its identifier
 * @param source the volume that it was taken of, which may be gone
 * @param size of the volume then, in bytes
 * @param createdAt when
 * @param group the identifier of the group that it was taken with
 */
public record ListedSnapshot(
    VolumeId id, VolumeId source, long size, Instant createdAt, Optional<String> group)
    implements ListEntry {
  /** One that was taken alone. */
  public ListedSnapshot(VolumeId id, VolumeId source, long size, Instant createdAt) {
    this(id, source, size, createdAt, Optional.empty());
  }

  @Override
  public int bytes() {
    return 6 * AnswerBytes.FIELD
        + AnswerBytes.of(id)
        + AnswerBytes.of(source)
        + group.map(AnswerBytes::of).orElse(0);
  }
}
