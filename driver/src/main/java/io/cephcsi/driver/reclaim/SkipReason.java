package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import io.cephcsi.bindings.rbd.Watcher;
import java.util.List;
import java.util.Optional;

/**
 * Why an image is not reclaimed.
 *
 * @param reason as a short word, for metrics
 * @param detail as a sentence
 */
record SkipReason(String reason, String detail) {
  static final String IN_USE = "in_use";
  private static final SkipReason MIGRATING =
      new SkipReason("migrating", "the image is being migrated");

  /**
   * Looks at an image that is open for reading: it leaves no watcher, so all there are, are users,
   * or mirror it.
   */
  static Optional<SkipReason> of(RbdImage image) {
    List<Watcher> users = MirrorDaemons.users(image);
    if (!users.isEmpty()) {
      return Optional.of(new SkipReason(IN_USE, "in use by " + users.get(0).address()));
    }
    Optional<SkipReason> state = ofState(image);
    return state.isPresent() ? state : ofLock(image);
  }

  /**
   * Looks for a client that has the lock and is no watcher: it may be disconnected from the
   * cluster, and would lose data that it has not written yet if a reclaim blocklisted it.
   */
  static Optional<SkipReason> ofLock(RbdImage image) {
    return ReclaimLock.foreignOwner(image).map(owner -> new SkipReason(IN_USE, held(image, owner)));
  }

  private static String held(RbdImage image, String owner) {
    return "in use: "
        + owner
        + " holds its lock and does not answer; if that client does not exist any"
        + " more, open the image once, or remove the lock (rbd lock list, rbd lock"
        + " remove)"
        + (ReclaimLock.reclaimer(image).isEmpty()
            ? ""
            : "; the metadata key "
                + ReclaimLock.RECLAIMER
                + " names it as a reclaim that ended, but is not signed with the key of this"
                + " user, or was written by an earlier version");
  }

  /** Checks for migration and mirroring, whether a client has the image open or not. */
  static Optional<SkipReason> ofState(RbdImage image) {
    if (image.features().contains(ImageFeature.MIGRATING)) {
      return Optional.of(MIGRATING);
    }
    if (image.features().contains(ImageFeature.NON_PRIMARY)
        || image.mirroring().filter(mirror -> !mirror.primary()).isPresent()) {
      return Optional.of(
          new SkipReason(
              "mirror_secondary", "the image is a mirror secondary, written by mirroring only"));
    }
    return Optional.empty();
  }

  /** Looks whether the image is to keep its space, unless the plan says that it is not. */
  static Optional<SkipReason> ofThickness(RbdImage image, ReclaimPlan plan) {
    return plan.thick() || !ThickProvisioning.isOf(image)
        ? Optional.empty()
        : Optional.of(
            new SkipReason(
                "thick_provisioned",
                ThickProvisioning.DETAIL + "; reclaim.thick=true reclaims it all the same"));
  }

  /** For an image that is in the trash. */
  static SkipReason inTrash(TrashEntry entry) {
    return entry.source() == TrashSource.MIGRATION
        ? MIGRATING // the source of a migration waits there for its end
        : new SkipReason("trash", "the image is in the trash as " + entry.id());
  }

  boolean isUse() {
    return reason.equals(IN_USE);
  }
}
