package io.cephcsi.driver.volume;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A volume as lists show it.
 *
 * @param id its identifier
 * @param size in bytes
 * @param context what is known of its context
 * @param nodes the ids of the nodes that it is published to
 * @param problem what is wrong with it; empty when nothing is
 */
public record ListedVolume(
    VolumeId id,
    long size,
    Map<String, String> context,
    List<String> nodes,
    Optional<String> problem)
    implements ListEntry {
  private static final int HEALTHY_BYTES = 64; // of the text that nothing is wrong

  /** Copies the collections. */
  public ListedVolume {
    context = Map.copyOf(context);
    nodes = List.copyOf(nodes);
  }

  @Override
  public int bytes() {
    return 4 * AnswerBytes.FIELD
        + AnswerBytes.of(id)
        + AnswerBytes.of(context)
        + AnswerBytes.ofAll(nodes)
        + problem.map(AnswerBytes::of).orElse(HEALTHY_BYTES);
  }
}
