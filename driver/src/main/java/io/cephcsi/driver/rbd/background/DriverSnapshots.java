package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.InitialSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds and removes the snapshots of a deleted image that a driver took: those with the name of the
 * image of a CSI snapshot or of an intermediate image, and those that an unfinished journal entry
 * names. An image with any other snapshot stays in the trash. Safe for several threads; blocks on
 * the cluster.
 */
final class DriverSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(DriverSnapshots.class);
  private static final String TEMPORARY = ImageNames.temporary("");

  private final String instanceId;

  DriverSnapshots(String instanceId) {
    this.instanceId = instanceId;
  }

  /**
   * What a deleted image's snapshots amount to.
   *
   * @param own those that go with it
   * @param taken whether a CSI snapshot is among the others
   * @param foreign the names of those that no driver took
   */
  record Found(List<HeaderSnapshot> own, boolean taken, List<String> foreign) {
    /** Whether the image has to stay for one of them. */
    boolean mustKeepImage() {
      return taken || !foreign.isEmpty();
    }
  }

  /** Looks at the snapshots of an image in the trash, but those that are in the trash, too. */
  Found of(IoContext io, TrashEntry image, ImageHeader header) {
    List<HeaderSnapshot> own = new ArrayList<>();
    List<String> foreign = new ArrayList<>();
    boolean taken = false;
    for (HeaderSnapshot snapshot : snapshots(io, image.id(), header)) {
      if (snapshot.namespace() == SnapshotNamespace.USER && hasItsName(image, snapshot)) {
        own.add(snapshot);
      } else if (snapshot.namespace() != SnapshotNamespace.TRASH) {
        try {
          Optional<JournalEntry> entry =
              snapshot.namespace() == SnapshotNamespace.USER
                  ? entry(io, snapshot.name())
                  : Optional.empty();
          if (entry.isEmpty()) {
            foreign.add(snapshot.name());
          } else if (isTaken(entry.get())) {
            taken = true;
          } else {
            own.add(snapshot);
          }
        } catch (VolumeException e) { // a damaged entry may be that of a CSI snapshot
          LOG.warn("image {} stays in the trash: {}", image.name(), e.getMessage());
          taken = true;
        }
      }
    }
    return new Found(own, taken, foreign);
  }

  private static boolean hasItsName(TrashEntry image, HeaderSnapshot snapshot) {
    return image.name().equals(snapshot.name())
        || image.name().equals(ImageNames.temporary(snapshot.name()));
  }

  /**
   * The entry of a snapshot, or of a clone of a volume, for which a snapshot of a name is taken.
   */
  private Optional<JournalEntry> entry(IoContext io, String name) {
    boolean forClone = name.endsWith(TEMPORARY);
    String wanted = forClone ? name.substring(0, name.length() - TEMPORARY.length()) : name;
    return DeletedImages.parse(name)
        .flatMap(
            parsed ->
                new Journal(
                        forClone ? JournalKind.VOLUME : JournalKind.SNAPSHOT, instanceId, io, io)
                    .byUuid(UUID.fromString(parsed.group(1))))
        .filter(entry -> entry.name().equals(wanted));
  }

  /**
   * Whether it is a CSI snapshot that somebody has. The ids in the entry are no help: a snapshot
   * has others on an image that replaced the one it was taken on.
   */
  private static boolean isTaken(JournalEntry entry) {
    return entry.nativeSnapshot().isPresent();
  }

  /** The snapshots of an image, of which the manager may be removing one with its last clone. */
  private static List<HeaderSnapshot> snapshots(IoContext io, String imageId, ImageHeader known) {
    Optional<ImageHeader> header = Optional.of(known);
    while (header.isPresent()) {
      try {
        return ImageHeader.snapshots(io, imageId, header.get().snapshotIds());
      } catch (CephException.NotFound e) {
        header = ImageHeader.read(io, imageId);
      }
    }
    return List.of();
  }

  /** Removes snapshots; those that clones need move to the trash namespace. */
  static void remove(IoContext io, String imageId, List<HeaderSnapshot> own) {
    if (own.isEmpty()) {
      return;
    }
    RbdPool pool = new RbdPool(io);
    try (RbdImage image = pool.openById(imageId)) {
      for (HeaderSnapshot snapshot : own) {
        CloneSteps.removeSnapshot(image, snapshot.id());
      }
    } catch (CephException.NotFound e) {
      // It is gone; or what it was cloned from is, as it was incomplete, and librbd cannot open it.
      for (HeaderSnapshot snapshot : own) {
        removeUnopened(pool, imageId, snapshot);
      }
    }
  }

  private static void removeUnopened(RbdPool pool, String imageId, HeaderSnapshot snapshot) {
    try {
      if (!InitialSnapshot.remove(pool, imageId, snapshot.id())) {
        LOG.info("image {} cannot be opened, so its snapshots are not removed", imageId);
      }
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} was removed meanwhile", snapshot.name());
    } catch (CephException.Busy e) {
      LOG.debug("snapshot {} is not removed: {}", snapshot.name(), e.getMessage());
    }
  }
}
