package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.journal.ClusterNames;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.session.OpenVolume;
import java.util.UUID;

/**
 * The names of snapshots, which have images of their own or stay on that of their volume.
 *
 * @param source the volume
 */
record SnapshotNames(ImageNames images, OpenVolume source) implements ClusterNames {
  @Override
  public String of(UUID uuid) {
    return images.of(uuid);
  }

  @Override
  public boolean isTaken(String name) {
    return images.isTaken(name) || isOnVolume(name);
  }

  private boolean isOnVolume(String name) {
    try (RbdImage image = source.openReadOnly()) {
      return image.snapshots().list().stream()
          .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.USER)
          .anyMatch(snapshot -> snapshot.name().equals(name));
    }
  }
}
