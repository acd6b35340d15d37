package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.Discarded;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.TrimReport;
import java.util.Optional;

/** Estimates and states of tests. */
final class PoolStates {
  static final ObjectMapper JSON = new ObjectMapper();

  private PoolStates() {}

  /** An image that a trim would free bytes of. */
  static ImageEstimate image(String name, long bytes) {
    return new ImageEstimate(
        "id-" + name,
        name,
        new TrimReport(
            "none", "", "ext4", new Discarded(bytes, bytes / 4, bytes % 4, 1), Optional.empty()));
  }

  /** The image of a report or state that has a name. */
  static JsonNode named(JsonNode images, String name) {
    for (JsonNode image : images) {
      if (image.path("name").asText().equals(name)) {
        return image;
      }
    }
    throw new AssertionError("no image " + name + " in " + images);
  }

  /** An image of a state, to be changed. */
  static ObjectNode first(JsonNode state) {
    return (ObjectNode) state.path("images").get(0);
  }
}
