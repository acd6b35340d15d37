package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.ClusterNames;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/**
 * The names of images in a pool.
 *
 * @param prefix begins each
 */
public record ImageNames(RbdPool pool, String prefix) implements ClusterNames {
  /** The name of the image between a volume and its clone. */
  public static String temporary(String image) {
    return image + "-temp";
  }

  /** The uuid at the end of a name that a driver gave. */
  public static Optional<UUID> uuidAtEnd(String imageName) {
    int length = 36;
    if (imageName.length() < length) {
      return Optional.empty();
    }
    String end = imageName.substring(imageName.length() - length);
    try {
      UUID uuid = UUID.fromString(end);
      return Objects.equals(uuid.toString(), end) ? Optional.of(uuid) : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  @Override
  public String of(UUID uuid) {
    return prefix + uuid;
  }

  /** Also by the image between it and the volume that it is cloned from. */
  @Override
  public boolean isTaken(String name) {
    return CloneSteps.leadsTo(pool, name).isPresent()
        || CloneSteps.leadsTo(pool, temporary(name)).isPresent();
  }
}
