package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.OBJECT_MAP_INVALID;
import static io.cephcsi.driver.fsck.FindingKind.OBJECT_MAP_WRONG;

import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageFlag;
import io.cephcsi.driver.fsck.Finding;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Checks the object map of an image: its flag, whether it can be read, and, where the list noted
 * which objects there are, whether it has them all. A map may have objects that are not there, as
 * after a client died: that is no damage. Safe for several threads.
 */
final class ObjectMapCheck {
  private static final int SHOWN = 5;

  private final PoolCheckContext context;

  ObjectMapCheck(PoolCheckContext context) {
    this.context = context;
  }

  void look(Facts facts, String id, String name, ImageCondition image, List<Finding> findings) {
    if (!image.features().contains(ImageFeature.OBJECT_MAP)) {
      return;
    }
    String problem = "";
    if (image.flags().contains(ImageFlag.OBJECT_MAP_INVALID)) {
      problem = "it is flagged";
    } else if (!facts.hasObjectMap(id)) {
      problem = "it is missing";
    } else if (!image.features().contains(ImageFeature.STRIPINGV2)) {
      problem = compare(id, name, image, facts == context.lists(), findings);
    }
    if (!problem.isEmpty()) {
      findings.add(
          Finding.of(OBJECT_MAP_INVALID, context.place(), name, problem)
              .with("rbd", "object-map", "rebuild", context.path(name)));
    }
  }

  private String compare(
      String id, String name, ImageCondition image, boolean isFirst, List<Finding> findings) {
    Optional<BitSet> objects = objects(id, image);
    if (objects.isEmpty() || image.objects() > ObjectMap.MOST_OBJECTS) {
      return ""; // not among those that are compared, or too large to be
    }
    context.workers().turn();
    Optional<ObjectMap> map = ObjectMap.read(context.io(), id, 0, image.objects());
    if (map.isEmpty()) {
      return "it is damaged";
    }
    List<String> missing =
        objects.get().stream()
            .filter(number -> number < image.objects() && !map.get().exists(number))
            .mapToObj(number -> String.format("%s.%016x", image.data().prefix(), number))
            .filter(object -> isFirst || isThere(image, object))
            .limit(SHOWN)
            .toList();
    if (!missing.isEmpty()) {
      findings.add(
          Finding.of(
                  OBJECT_MAP_WRONG,
                  context.place(),
                  name,
                  "it lacks "
                      + String.join(", ", missing)
                      + (missing.size() == SHOWN ? ", ..." : ""))
              .with("rbd", "object-map", "rebuild", context.path(name)));
    }
    return "";
  }

  private Optional<BitSet> objects(String id, ImageCondition image) {
    String own = "rbd_data." + id;
    DataObjectsFound.Found found =
        image.data().prefix().equals(own) && image.data().poolId() == context.io().poolId()
            ? context.lists().data().byPrefix().get(own)
            : null;
    return found == null ? Optional.empty() : found.which();
  }

  /** The list is old by now, and has objects of which only snapshots are left. */
  private boolean isThere(ImageCondition image, String object) {
    context.workers().turn();
    try (IoContext data =
        context.io().cluster().openPool(image.data().poolId(), context.io().namespace())) {
      return data.exists(object);
    }
  }
}
