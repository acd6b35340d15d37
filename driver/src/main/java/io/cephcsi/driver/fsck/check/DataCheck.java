package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.DATA_WITHOUT_HEADER;
import static io.cephcsi.driver.fsck.FindingKind.OBJECT_MAP_WITHOUT_HEADER;
import static io.cephcsi.driver.fsck.FindingKind.SNAPSHOT_DATA_WITHOUT_HEADER;

import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.fsck.Finding;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Checks the data objects of a pool: whether their images are there. Safe for several threads. */
final class DataCheck {
  private final PoolCheckContext context;
  private final IoContext io;
  private @Nullable Map<String, Long> again;
  private String whyNotJudged = "";
  private final Set<String> notJudged = new HashSet<>();

  DataCheck(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
  }

  /** Compares data and object maps with the headers of the lists. */
  void all() {
    for (DataObjectsFound.Found found : context.lists().data().byPrefix().values()) {
      boolean isHere = found.poolId().isEmpty() || found.poolId().getAsLong() == io.poolId();
      if (!isHere || !context.lists().hasHeader(found.imageId())) {
        context.suspicions().add(context.place(), found.prefix(), () -> look(found, isHere));
      }
    }
    context
        .lists()
        .objectMapsWithoutHeader()
        .forEach(
            id ->
                context
                    .suspicions()
                    .add(context.place(), "rbd_object_map." + id, () -> objectMap(id)));
  }

  private List<Finding> look(DataObjectsFound.Found found, boolean isHere) {
    context.workers().turn();
    if (isHere ? ImageCondition.exists(io, found.imageId()) : existsElsewhere(found)) {
      return List.of();
    }
    List<Long> sizes = found.sample().stream().flatMap(object -> size(object).stream()).toList();
    int there = sizes.size();
    long bytes = sizes.stream().mapToLong(Long::longValue).sum();
    if (there == 0) {
      return isHere ? ofSnapshots(found) : List.of();
    }
    return List.of(
        Finding.of(
                DATA_WITHOUT_HEADER,
                context.place(),
                found.prefix(),
                found.count() + " objects; the bytes are estimated from " + there)
            .with(OptionalLong.of(bytes / there * found.count())));
  }

  /** Objects that are listed and are not there: snapshots of them are. */
  private synchronized List<Finding> ofSnapshots(DataObjectsFound.Found found) {
    long left = listedAgain().getOrDefault(found.prefix(), 0L);
    if (left == 0) {
      return List.of();
    }
    if (!whyNotJudged.isEmpty()) {
      notJudged.add(found.prefix());
      return List.of();
    }
    return List.of(
        Finding.of(
            SNAPSHOT_DATA_WITHOUT_HEADER,
            context.place(),
            found.prefix(),
            "snapshots of " + left + " objects"));
  }

  /**
   * Of how many images the data that only snapshots keep were not judged, and why; empty if all
   * were. To be asked after the check.
   */
  synchronized Optional<String> leftOut() {
    return notJudged.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "what snapshots may keep of the data of "
                + notJudged.size()
                + " images without a header was not judged: "
                + whyNotJudged);
  }

  /** How many objects of each prefix another list has, which is made once. */
  private Map<String, Long> listedAgain() {
    if (again == null) {
      DataObjectsFound objects = new DataObjectsFound(false);
      whyNotJudged = whySnapshotsCannotBeJudged();
      io.objects(objects::add);
      if (whyNotJudged.isEmpty()) { // snapshots may have been deleted meanwhile
        whyNotJudged = whySnapshotsCannotBeJudged();
      }
      Map<String, Long> counts = new HashMap<>();
      objects.byPrefix().forEach((prefix, of) -> counts.put(prefix, of.count()));
      again = counts;
    }
    return again;
  }

  private String whySnapshotsCannotBeJudged() {
    context.workers().turn();
    try {
      return MonitorQueries.poolsThatForgetSnapshots(io.cluster()).contains(io.poolId())
          ? "the pool still removes what deleted snapshots kept; check again later"
          : "";
    } catch (CephException.Denied e) {
      return "the user may not ask the monitors whether the pool still removes snapshots";
    }
  }

  private Optional<Long> size(String object) {
    context.workers().turn();
    try {
      return Optional.of(io.stat(object).size());
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private boolean existsElsewhere(DataObjectsFound.Found found) {
    context.workers().turn();
    try (IoContext images = io.cluster().openPool(found.poolId().orElseThrow(), io.namespace())) {
      return ImageCondition.exists(images, found.imageId());
    } catch (CephException.NotFound e) {
      return false;
    } catch (CephException.Denied e) {
      return true; // nobody can say
    }
  }

  private List<Finding> objectMap(String id) {
    return !context.live().hasHeader(id) && context.live().hasObject("rbd_object_map." + id)
        ? List.of(
            Finding.of(OBJECT_MAP_WITHOUT_HEADER, context.place(), "rbd_object_map." + id, "")
                .with(context.rados("rm", "rbd_object_map." + id)))
        : List.of();
  }
}
