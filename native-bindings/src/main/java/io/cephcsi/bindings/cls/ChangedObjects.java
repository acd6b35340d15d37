package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.BitSet;
import java.util.Optional;

/**
 * The objects of an image that may have changed between two snapshots of any kind, by its object
 * maps; librbd's fast diff knows only user snapshots. The maps count whole objects, and an object
 * that was overwritten with the same bytes counts as changed. To be closed, as it takes memory of a
 * bounded amount until then. Immutable.
 */
public final class ChangedObjects implements AutoCloseable {
  private static final int OBJECTS_IN_BYTE = 8;

  /**
   * What all of a process keep together, for as long as their users like: apart from the memory of
   * maps that are read, for which others wait.
   */
  private static final MapMemory KEPT = new MapMemory(Runtime.getRuntime().maxMemory() / 8);

  private final ImageLayout layout;
  private final BitSet updated;
  private final MapMemory.Held memory;

  private ChangedObjects(ImageLayout layout, BitSet updated, MapMemory.Held memory) {
    this.layout = layout;
    this.updated = updated;
    this.memory = memory;
  }

  /**
   * Compares; two round trips for the header, and one for the map of each snapshot between the two.
   *
   * @param imageId the image's id; it may be in the trash
   * @param from the id of the older snapshot
   * @param to the id of the newer snapshot
   * @return empty when a map is missing, not valid or damaged, or there is no such image or
   *     snapshot; of more than 2 million objects also while others keep an eighth of the heap
   */
  public static Optional<ChangedObjects> between(RbdPool pool, String imageId, long from, long to) {
    Optional<UsageHeader> header =
        UsageHeader.read(pool.io(), imageId).filter(UsageHeader::mapsAreValid);
    if (header.isEmpty()) {
      return Optional.empty();
    }
    int maps = ObjectMap.READING + MapDiff.MAPS;
    try (MapMemory.Held memory = MapMemory.take(header.get().mostObjects(), maps)) {
      return between(pool, imageId, header.get(), from, to);
    }
  }

  private static Optional<ChangedObjects> between(
      RbdPool pool, String imageId, UsageHeader header, long from, long to) {
    MapDiff diff = null;
    for (UsageHeader.Snapshot snapshot : header.snapshots()) {
      long id = snapshot.info().id();
      if (id < from || id > to) {
        continue;
      }
      ImageLayout layout = header.layout().resized(snapshot.info().size());
      Optional<ObjectMap> map = ObjectMap.readHeld(pool.io(), imageId, id, layout.objects());
      if (map.isEmpty() || (diff == null && id != from)) {
        return Optional.empty();
      }
      if (diff == null) {
        diff = MapDiff.from(map.get());
      } else {
        diff.next(map.get());
      }
      if (id == to) {
        MapDiff found = diff;
        return KEPT.tryTake(layout.objects() / OBJECTS_IN_BYTE)
            .map(memory -> new ChangedObjects(layout, found.updated(), memory));
      }
    }
    return Optional.empty();
  }

  /** How the newer snapshot lies in objects. */
  public ImageLayout layout() {
    return layout;
  }

  /** Whether one of the objects changed that hold a range of the image. */
  public boolean in(long offset, long length) {
    for (long at = offset;
        at < offset + length;
        at += layout.stripeUnit() - at % layout.stripeUnit()) {
      if (updated.get((int) layout.objectOf(at))) {
        return true;
      }
    }
    return false;
  }

  /** Gives its memory back. */
  @Override
  public void close() {
    memory.close();
  }
}
