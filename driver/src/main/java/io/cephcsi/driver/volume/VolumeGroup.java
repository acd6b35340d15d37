package io.cephcsi.driver.volume;

import java.util.List;
import java.util.Map;

/**
 * A group of volumes.
 *
 * @param id its identifier
 * @param context what is known of where it is
 * @param volumes its members, sorted by their ids
 */
public record VolumeGroup(VolumeId id, Map<String, String> context, List<CreatedVolume> volumes)
    implements ListEntry {
  /** Copies the collections. */
  public VolumeGroup {
    context = Map.copyOf(context);
    volumes = List.copyOf(volumes);
  }

  @Override
  public int bytes() {
    return AnswerBytes.FIELD
        + AnswerBytes.of(id)
        + AnswerBytes.of(context)
        + volumes.stream().mapToInt(VolumeGroup::bytes).sum();
  }

  private static int bytes(CreatedVolume volume) {
    return 2 * AnswerBytes.FIELD + AnswerBytes.of(volume.id()) + AnswerBytes.of(volume.context());
  }
}
