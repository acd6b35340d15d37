package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;

/**
 * Measures the allocated space of images. Safe for several threads; blocks on the cluster.
 *
 * <p>If an image is written during the measurement, the result is the usage at some moment of it,
 * and what is being written or removed may count or not, as with {@code rbd du}.
 */
public final class UsageMeter {
  private final RbdPool pool;

  /** Measures images of a pool and namespace. */
  public UsageMeter(RbdPool pool) {
    this.pool = pool;
  }

  /**
   * Measures by the object maps alone: one round trip for the header and one for each map, the
   * image is not opened.
   *
   * @return empty when a map is missing, not valid, damaged, or larger than {@link
   *     ObjectMap#MOST_OBJECTS}, or there is no such image
   */
  public Optional<ImageUsage> byObjectMap(String imageId) {
    return UsageHeader.read(pool.io(), imageId)
        .filter(UsageHeader::mapsAreValid)
        .flatMap(header -> byObjectMap(imageId, header));
  }

  /**
   * What only one snapshot holds, and would be free without it: whole objects, by the object maps
   * of the snapshots around it. The image is not opened.
   *
   * @return empty when a map is missing, not valid or damaged, or there is no such snapshot
   */
  public OptionalLong bytesOnlyIn(String imageId, long snapshotId) {
    Optional<UsageHeader> header =
        UsageHeader.read(pool.io(), imageId).filter(UsageHeader::mapsAreValid);
    if (header.isEmpty()) {
      return OptionalLong.empty();
    }
    ImageLayout layout = header.get().layout();
    List<ImageSnapshot> snapshots =
        header.get().snapshots().stream().map(UsageHeader.Snapshot::info).toList();
    for (int i = 0; i < snapshots.size(); i++) {
      if (snapshots.get(i).id() == snapshotId) {
        ImageLayout then = layout.resized(snapshots.get(i).size());
        boolean isNewest = i + 1 == snapshots.size();
        long next = isNewest ? 0 : snapshots.get(i + 1).id();
        long nextSize = isNewest ? layout.size() : snapshots.get(i + 1).size();
        return bytesOnlyIn(imageId, snapshotId, i == 0, then, next, layout.resized(nextSize));
      }
    }
    return OptionalLong.empty();
  }

  private OptionalLong bytesOnlyIn(
      String imageId,
      long snapshotId,
      boolean isOldest,
      ImageLayout then,
      long next,
      ImageLayout nextLayout) {
    long most = Math.max(then.objects(), nextLayout.objects());
    try (MapMemory.Held memory = MapMemory.take(most, ObjectMap.READING + 1)) {
      Optional<ObjectMap> held = ObjectMap.readHeld(pool.io(), imageId, snapshotId, then.objects());
      Optional<ObjectMap> after =
          held.flatMap(map -> ObjectMap.readHeld(pool.io(), imageId, next, nextLayout.objects()));
      return held.isEmpty() || after.isEmpty()
          ? OptionalLong.empty()
          : OptionalLong.of(bytesOnlyIn(held.get(), isOldest, after.get(), then));
    }
  }

  /** An object that is clean is the one of the snapshot before. */
  private static long bytesOnlyIn(
      ObjectMap held, boolean isOldest, ObjectMap after, ImageLayout layout) {
    long bytes = 0;
    for (long o = held.nextExisting(0); o >= 0; o = held.nextExisting(o + 1)) {
      boolean isOfTheOneBefore = !isOldest && held.isClean(o);
      bytes += isOfTheOneBefore || after.isClean(o) ? 0 : layout.bytesOf(o);
    }
    return bytes;
  }

  /**
   * The object map of an image's head, if it is valid.
   *
   * @param imageId the image's id
   */
  public Optional<ObjectMap> objectMap(String imageId) {
    return UsageHeader.read(pool.io(), imageId)
        .filter(UsageHeader::mapsAreValid)
        .flatMap(header -> ObjectMap.read(pool.io(), imageId, 0, header.layout().objects()));
  }

  private Optional<ImageUsage> byObjectMap(String imageId, UsageHeader header) {
    int maps = ObjectMap.READING + (header.snapshots().isEmpty() ? 0 : MapDiff.MAPS);
    try (MapMemory.Held memory = MapMemory.take(header.mostObjects(), maps)) {
      return compared(imageId, header);
    }
  }

  private Optional<ImageUsage> compared(String imageId, UsageHeader header) {
    List<ImageUsage.OfSnapshot> snapshots = new ArrayList<>();
    MapDiff diff = MapDiff.fromNothing();
    for (UsageHeader.Snapshot snapshot : header.snapshots()) {
      ImageSnapshot info = snapshot.info();
      ImageLayout layout = header.layout().resized(info.size());
      Optional<ObjectMap> map = ObjectMap.readHeld(pool.io(), imageId, info.id(), layout.objects());
      if (map.isEmpty()) {
        return Optional.empty();
      }
      diff.next(map.get());
      if (info.namespace() == SnapshotNamespace.USER) {
        snapshots.add(
            new ImageUsage.OfSnapshot(
                info.id(), info.name(), info.size(), diff.writtenBytes(layout)));
        diff.startFrom(map.get());
      }
    }
    Optional<ObjectMap> head = ObjectMap.readHeld(pool.io(), imageId, 0, header.layout().objects());
    if (head.isEmpty()) {
      return Optional.empty();
    }
    long bytes = head.get().existingBytes(header.layout());
    return Optional.of(
        new ImageUsage(
            ImageUsage.Method.OBJECT_MAP,
            header.layout().size(),
            bytes,
            OptionalLong.of(head.get().existing()),
            header.snapshots().isEmpty() ? bytes : since(diff, head.get(), header.layout()),
            snapshots,
            header.hasParent() ? OptionalLong.empty() : OptionalLong.of(0)));
  }

  private static long since(MapDiff diff, ObjectMap head, ImageLayout layout) {
    diff.next(head);
    return diff.writtenBytes(layout);
  }

  /**
   * Measures in the best way that the question allows.
   *
   * @return empty when only a walk over more objects could tell than the question allows
   * @throws CephException.NotFound if there is no such image
   * @throws CephException EBADMSG as of {@link AncestryCheck#requireOpenable(
   *     io.cephcsi.bindings.rados.IoContext, String)}
   */
  public Optional<ImageUsage> measure(String imageId, UsageQuery query) {
    return measure(imageId, query, () -> false);
  }

  /**
   * As {@link #measure(String, UsageQuery)}, until it is to be stopped.
   *
   * @param stop asked every second or so while objects are asked one by one; must not block
   * @return empty when it was stopped, too
   */
  public Optional<ImageUsage> measure(String imageId, UsageQuery query, BooleanSupplier stop) {
    Optional<ImageUsage> quick = query.exact() ? Optional.empty() : byObjectMap(imageId);
    if (quick.isPresent() && !(query.inherited() && quick.get().inheritedBytes().isEmpty())) {
      return quick;
    }
    AncestryCheck.requireOpenable(pool.io(), imageId);
    try (RbdImage image = pool.openByIdReadOnly(imageId)) {
      Optional<ImageUsage> usage = quick.isPresent() ? quick : byDiff(image, query, stop);
      return query.inherited()
          ? usage.map(u -> u.withInherited(inherited(image, query, u.headBytes())))
          : usage;
    } catch (UsageWalk.Stopped e) {
      return Optional.empty();
    }
  }

  private static long inherited(RbdImage image, UsageQuery query, long headBytes) {
    return image.parent().isEmpty()
        ? 0
        : Math.max(
            0,
            new UsageWalk(false, !query.exact(), () -> false)
                    .allocated(image, Optional.empty(), true)
                - headBytes);
  }

  private Optional<ImageUsage> byDiff(RbdImage image, UsageQuery query, BooleanSupplier stop) {
    boolean fast = mapsAreUsable(image);
    List<ImageSnapshot> existing = image.snapshots().list();
    if (!fast && walked(image.layout(), existing) > query.maxObjectsWalked()) {
      return Optional.empty();
    }
    UsageWalk walk = new UsageWalk(!fast || query.exact(), !query.exact(), stop);
    List<ImageUsage.OfSnapshot> snapshots = new ArrayList<>();
    Optional<String> last = Optional.empty();
    for (ImageSnapshot snapshot : existing) {
      if (snapshot.namespace() == SnapshotNamespace.USER) {
        try (RbdImage then = pool.openByIdReadOnly(image.id(), snapshot.name())) {
          long bytes = walk.allocated(then, last, false);
          snapshots.add(
              new ImageUsage.OfSnapshot(snapshot.id(), snapshot.name(), snapshot.size(), bytes));
        }
        last = Optional.of(snapshot.name());
      }
    }
    long since = walk.allocated(image, last, false);
    return Optional.of(
        new ImageUsage(
            query.exact()
                ? ImageUsage.Method.EXACT_DIFF
                : fast ? ImageUsage.Method.FAST_DIFF : ImageUsage.Method.FULL_WALK,
            image.size(),
            last.isEmpty() ? since : walk.allocated(image, Optional.empty(), false),
            OptionalLong.empty(),
            since,
            snapshots,
            OptionalLong.empty()));
  }

  /**
   * Whether librbd compares object maps, for it asks every object where it cannot. Of maps that are
   * too large to be read here this is not known.
   */
  private boolean mapsAreUsable(RbdImage image) {
    Optional<UsageHeader> header = UsageHeader.read(pool.io(), image.id());
    if (header.isEmpty()) { // of a form that only librbd knows
      return image.features().contains(ImageFeature.FAST_DIFF) && image.flags().isEmpty();
    }
    return header.get().mapsAreValid()
        && ObjectMap.isUsable(pool.io(), image.id(), 0, header.get().layout().objects())
        && header.get().snapshots().stream()
            .map(UsageHeader.Snapshot::info)
            .allMatch(
                then ->
                    ObjectMap.isUsable(
                        pool.io(),
                        image.id(),
                        then.id(),
                        header.get().layout().resized(then.size()).objects()));
  }

  /** How many objects are asked: for each snapshot once, and for the head once or twice. */
  private static long walked(ImageLayout layout, List<ImageSnapshot> existing) {
    long objects = layout.objects();
    boolean any = false;
    for (ImageSnapshot snapshot : existing) {
      if (snapshot.namespace() == SnapshotNamespace.USER) {
        objects += layout.resized(snapshot.size()).objects();
        any = true;
      }
    }
    return any ? objects + layout.objects() : objects;
  }
}
