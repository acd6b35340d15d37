package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.background.MgrTasks;
import io.cephcsi.driver.rbd.background.TrashRemoval;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Mends images and the trash. What is removed is proven to be a driver's, and goes by its id. */
final class ImageRepairs {
  private final PoolCheckContext context;
  private final IoContext io;
  private final RbdPool pool;

  ImageRepairs(PoolCheckContext context) {
    this.context = context;
    this.io = context.io();
    this.pool = new RbdPool(io);
  }

  /** Makes a name lead to its image again; nothing that is there is changed. */
  Repair restoreName(String name, String id) {
    return () ->
        EntryRepairs.done(
            ImageCondition.restoreName(io, name, id), "made the name lead to image id " + id);
  }

  /**
   * Moves an intermediate image to the trash that bears the mark of a driver. It stays there for as
   * long as it had to be unchanged before: who misses it can restore it.
   */
  Repair discardIntermediate(String name, String id) {
    return () -> {
      String temporary = ImageNames.temporary("");
      String image = name.substring(0, name.length() - temporary.length());
      if (!new HeaderAttribute("csi.java.between", image).isOn(io, id)
          || context.live().isClaimed(name)
          || !context.settings().isRepairable(io.stat(ImageHeader.object(id)).modified())
          || HeaderNotification.isWatched(pool, id)) {
        return Optional.empty();
      }
      AncestryCheck.requireOpenable(io, id);
      TrashMove.move(pool, name, id, context.settings().repairAge());
      return Optional.of(
          "moved image id " + id + " to the trash, for " + context.settings().repairAge());
    };
  }

  /** Completes the move of an image to the trash that a driver began. */
  Repair completeMove(String name, String id) {
    return () -> {
      if (TrashMark.find(io, id).filter(entry -> entry.name().equals(name)).isEmpty()
          || HeaderNotification.isWatched(pool, id)) {
        return Optional.empty();
      }
      TrashMove.move(pool, name, id);
      return Optional.of("completed the move of image id " + id + " to the trash");
    };
  }

  /** Has an image forget a group that is gone, or does not have it. */
  Repair forgetGroup(String id, GroupLink group) {
    return () -> {
      if (group.poolId() != io.poolId() || context.live().isMember(group, id)) {
        return Optional.empty();
      }
      GroupHeader.forget(io, id, group);
      return Optional.of("the image forgot the group");
    };
  }

  /** Removes the mark of a reclaim that nobody does. */
  Repair removeReclaimMark(String id) {
    return () -> {
      if (!HeaderLock.holders(pool, id).isEmpty()
          || HeaderNotification.isWatched(pool, id)
          || HeaderMetadata.isJournaled(io, id)) {
        return Optional.empty();
      }
      Set<String> marks = HeaderMetadata.read(io, id, List.of(ImageCheck.RECLAIMER)).keySet();
      HeaderMetadata.change(io, id, java.util.Map.of(), marks);
      return EntryRepairs.done(!marks.isEmpty(), "removed the mark");
    };
  }

  /** Removes a snapshot that was removed before, and has no clone. */
  Repair removeTrashSnapshot(String id, long snapshotId) {
    return () -> {
      Optional<ImageHeader> header = ImageHeader.read(io, id);
      if (header.filter(image -> image.snapshotIds().contains(snapshotId)).isEmpty()
          || HeaderNotification.isWatched(pool, id)) {
        return Optional.empty();
      }
      HeaderSnapshot snapshot = ImageHeader.snapshots(io, id, List.of(snapshotId)).get(0);
      if (snapshot.namespace() != SnapshotNamespace.TRASH
          || !context.settings().isRepairable(snapshot.createdAt())
          || !ImageHeader.children(io, id, snapshotId).isEmpty()) {
        return Optional.empty();
      }
      AncestryCheck.requireOpenable(io, id, header.get());
      try (RbdImage image = pool.openById(id)) {
        image.snapshots().removeById(snapshotId);
        return Optional.of("removed snapshot " + snapshotId);
      } catch (CephException.NotFound e) {
        return Optional.empty();
      } catch (CephException.Busy e) {
        return Optional.empty(); // librbd knows a clone
      }
    };
  }

  /** Removes a deleted image from the trash, by the rules of the driver. */
  Repair removeFromTrash(String id, String instanceId) {
    return () -> {
      Optional<TrashEntry> entry = TrashMark.find(io, id);
      if (entry.filter(e -> context.settings().isRepairable(e.deletedAt())).isEmpty()) {
        return Optional.empty();
      }
      new TrashRemoval(new MgrTasks(new ManagerCommands()), instanceId).removeForgotten(io, id);
      return Optional.of("had image id " + id + " removed from the trash");
    };
  }
}
