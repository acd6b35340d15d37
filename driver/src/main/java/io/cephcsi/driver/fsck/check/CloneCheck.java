package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.FindingKind.CLONE_UNKNOWN_TO_PARENT;
import static io.cephcsi.driver.fsck.FindingKind.CLONE_WITHOUT_PARENT;
import static io.cephcsi.driver.fsck.FindingKind.PARENT_GONE;

import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.cls.ParentSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.fsck.Finding;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Compares what clones say of their parents with what the parents say of their clones. librbd has a
 * clone say it first and no more last, so at no time does only the parent say it. Safe for several
 * threads.
 */
final class CloneCheck {
  private static final int MAX_KEPT = 1000;

  private final PoolCheckContext context;
  private final Map<Parent, Optional<ParentSnapshot>> kept = new ConcurrentHashMap<>();

  /** A snapshot of an image. */
  private record Parent(ImageLink image, long snapshotId) {}

  CloneCheck(PoolCheckContext context) {
    this.context = context;
  }

  /** Checks the parent of an image, if it has one; one round trip, at times two. */
  void ofClone(Facts facts, String id, String name, ImageCondition image, List<Finding> findings) {
    if (image.parent().isEmpty() || image.features().contains(ImageFeature.MIGRATING)) {
      return;
    }
    Parent parent = new Parent(image.parent().get(), image.parentSnapshot());
    String whose =
        "image id "
            + id
            + ", snapshot "
            + parent.snapshotId
            + " of image id "
            + parent.image.imageId()
            + " in pool id "
            + parent.image.poolId();
    try (IoContext other =
        context.io().cluster().openPool(parent.image.poolId(), parent.image.namespace())) {
      Optional<ParentSnapshot> snapshot =
          facts == context.lists() ? readOnce(other, parent) : read(other, parent);
      if (snapshot.filter(ParentSnapshot::exists).isEmpty()) {
        findings.add(Finding.of(PARENT_GONE, context.place(), name, whose));
      } else if (!snapshot.get().clones().contains(link(id)) && !isProtected(other, parent)) {
        findings.add(Finding.of(CLONE_UNKNOWN_TO_PARENT, context.place(), name, whose));
      }
    } catch (CephException.NotFound e) {
      findings.add(Finding.of(PARENT_GONE, context.place(), name, whose));
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      return; // it may not be read, or is damaged: then another finding says it
    }
  }

  private ImageLink link(String id) {
    return new ImageLink(context.io().poolId(), context.io().namespace(), id);
  }

  /** A snapshot may have thousands of clones: their list is read once for all of them. */
  private Optional<ParentSnapshot> readOnce(IoContext io, Parent parent) {
    Optional<ParentSnapshot> before = kept.get(parent);
    if (before != null) {
      return before;
    }
    Optional<ParentSnapshot> now = read(io, parent);
    if (kept.size() < MAX_KEPT) {
      kept.put(parent, now);
    }
    return now;
  }

  private Optional<ParentSnapshot> read(IoContext io, Parent parent) {
    context.workers().turn();
    return ParentSnapshot.read(io, parent.image.imageId(), parent.snapshotId);
  }

  private boolean isProtected(IoContext io, Parent parent) {
    context.workers().turn();
    return ParentSnapshot.isProtected(io, parent.image.imageId(), parent.snapshotId);
  }

  /**
   * Checks the clones of a snapshot of the pool; a round trip for each.
   *
   * @param id of the parent
   * @param clones as the parent knows them
   * @return whether any of them has a header
   */
  boolean ofParent(String id, long snapshotId, List<ImageLink> clones, List<Finding> findings) {
    boolean isAnyThere = false;
    for (ImageLink clone : clones) {
      try (IoContext other = context.io().cluster().openPool(clone.poolId(), clone.namespace())) {
        context.workers().turn();
        Optional<ImageCondition> image =
            ImageCondition.read(other, clone.imageId(), ImageCheck.KEYS);
        isAnyThere |= image.isPresent() || ImageCondition.exists(other, clone.imageId());
        image
            .filter(of -> !isCloneOf(of, id, snapshotId))
            .ifPresent(of -> findings.add(withoutParent(clone, id, snapshotId)));
      } catch (CephException.NotFound e) {
        // nor is its pool there
      } catch (CephException.OutcomeUnknown e) {
        throw e;
      } catch (CephException e) {
        isAnyThere = true; // it may not be read, or is damaged
      }
    }
    return isAnyThere;
  }

  private boolean isCloneOf(ImageCondition image, String id, long snapshotId) {
    return image.features().contains(ImageFeature.MIGRATING)
        || (image.parent().equals(Optional.of(link(id))) && image.parentSnapshot() == snapshotId);
  }

  private Finding withoutParent(ImageLink clone, String id, long snapshotId) {
    return Finding.of(
        CLONE_WITHOUT_PARENT,
        context.place(),
        "image id " + clone.imageId(),
        "in pool id " + clone.poolId() + "; snapshot " + snapshotId + " of image id " + id);
  }
}
