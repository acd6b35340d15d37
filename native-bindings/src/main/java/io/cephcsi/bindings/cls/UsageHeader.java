package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What usage needs of the header object of an image, read without opening the image: one round
 * trip, and one more when there are snapshots.
 *
 * @param features the features as a mask
 * @param flags the flags of the head as a mask
 * @param layout size and layout of the head
 * @param hasParent whether it is a clone that was not flattened
 * @param snapshots oldest first
 */
record UsageHeader(
    long features, long flags, ImageLayout layout, boolean hasParent, List<Snapshot> snapshots) {
  private static final List<String> KEYS =
      Stream.concat(Stream.of("flags", "size", "order", "parent"), HeaderLayout.KEYS.stream())
          .toList();
  private static final int SNAPSHOT_VERSION = 1;

  /**
   * Reads the header.
   *
   * @return empty when there is no such image, or when it has a form that is not known here
   */
  static Optional<UsageHeader> read(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      ReadOperation.Result<Map<String, byte[]>> values = read.omapGetByKeys(KEYS);
      ReadOperation.Result<byte[]> context = RbdClass.call("get_snapcontext").addTo(read);
      io.operate(ImageHeader.object(imageId), read);
      Optional<List<Snapshot>> snapshots = snapshots(io, imageId, ids(context.get()));
      return snapshots.flatMap(all -> decode(values.get(), all));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static Optional<UsageHeader> decode(
      Map<String, byte[]> values, List<Snapshot> snapshots) {
    byte[] order = values.get("order");
    if (order == null || order.length != 1) {
      return Optional.empty();
    }
    return HeaderLayout.decode(HeaderLayout.number(values, "size", 0), order[0], values)
        .filter(layout -> layout.size() >= 0)
        .map(
            layout ->
                new UsageHeader(
                    HeaderLayout.number(values, HeaderLayout.FEATURES, 0),
                    HeaderLayout.number(values, "flags", 0),
                    layout,
                    values.containsKey("parent"),
                    snapshots));
  }

  /** The ids in a SnapContext, which has the newest first. */
  private static long[] ids(byte[] context) {
    List<Long> newestFirst = ImageHeader.snapshotIds(context);
    long[] ids = new long[newestFirst.size()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = newestFirst.get(ids.length - 1 - i);
    }
    return ids;
  }

  /** Empty when one has a form that is not known. */
  private static Optional<List<Snapshot>> snapshots(IoContext io, String imageId, long[] ids) {
    if (ids.length == 0) {
      return Optional.of(List.of());
    }
    try (ReadOperation read = new ReadOperation()) {
      List<ReadOperation.Result<byte[]>> infos = new ArrayList<>();
      List<ReadOperation.Result<byte[]>> flags = new ArrayList<>();
      for (long id : ids) {
        infos.add(RbdClass.call("snapshot_get").u64(id).addTo(read));
        flags.add(RbdClass.call("get_flags").u64(id).addTo(read));
      }
      io.operate(ImageHeader.object(imageId), read);
      List<Snapshot> snapshots = new ArrayList<>();
      for (int i = 0; i < ids.length; i++) {
        byte[] info = infos.get(i).get();
        if (info[1] > SNAPSHOT_VERSION) { // the oldest version that can read it
          return Optional.empty();
        }
        HeaderSnapshot header = ImageHeader.snapshot(info);
        snapshots.add(
            new Snapshot(
                new ImageSnapshot(header.id(), header.name(), header.size(), header.namespace()),
                ClassOutput.decode("flags", flags.get(i).get(), ClassOutput::u64)));
      }
      return Optional.of(snapshots);
    }
  }

  /** Whether object maps of the head and of all snapshots exist and claim to be right. */
  boolean mapsAreValid() {
    Set<ImageFeature> known = ImageFeature.of(features);
    return known.contains(ImageFeature.OBJECT_MAP)
        && known.contains(ImageFeature.FAST_DIFF)
        && flags == 0
        && snapshots.stream().allMatch(snapshot -> snapshot.flags() == 0);
  }

  /** How many objects the largest of the maps has, of the head and of all snapshots. */
  long mostObjects() {
    long most = layout.objects();
    for (Snapshot snapshot : snapshots) {
      most = Math.max(most, layout.resized(snapshot.info().size()).objects());
    }
    return most;
  }

  /**
   * A snapshot with its flags.
   *
   * @param info what the header says of it
   * @param flags a mask
   */
  record Snapshot(ImageSnapshot info, long flags) {}
}
