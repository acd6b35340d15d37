package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The trees that the root tree names, and what it says of work that was interrupted. */
final class BtrfsRoots {
  private static final long EXTENT_TREE = 2;
  private static final long DEV_TREE = 4;
  private static final long FREE_SPACE_TREE = 10;
  private static final long FIRST_SUBVOLUME = 256;
  private static final long BALANCE = -4;
  private static final long TREE_LOG = -6;
  private static final long TREE_LOG_FIXUP = -7;
  private static final long TREE_RELOC = -8;
  private static final long DATA_RELOC_TREE = -9;
  private static final int SMALLEST_ROOT = 239;

  private final BtrfsVolume volume;
  private BtrfsTree.@Nullable Root extents;
  private BtrfsTree.@Nullable Root device;
  private BtrfsTree.@Nullable Root freeSpace;

  private BtrfsRoots(BtrfsVolume volume) {
    this.volume = volume;
  }

  /** Reads the root tree, and notes the roots of all trees as used. */
  static BtrfsRoots read(BtrfsVolume volume) throws IOException {
    BtrfsRoots roots = new BtrfsRoots(volume);
    BtrfsTree.walk(volume, volume.superblock.rootTree(), roots::visit);
    Refusal.require(
        (roots.freeSpace != null) == volume.superblock.features().freeSpaceTree(),
        "the free space tree is there, or not, against the feature");
    return roots;
  }

  private void visit(BtrfsKey key, BtrfsFields item) {
    if (key.type() == BtrfsKey.ROOT_ITEM) {
      visitRoot(key, item);
    } else if (key.type() == BtrfsKey.TEMPORARY_ITEM) {
      if (key.objectId() == BALANCE) {
        throw new Refusal(RefusalReason.NOT_CLEAN, "a balance is not finished");
      }
      throw Refusal.unsupported("an unknown temporary item");
    }
  }

  private void visitRoot(BtrfsKey key, BtrfsFields item) {
    long id = key.objectId();
    if (id == TREE_RELOC) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "a relocation is not finished");
    }
    if (id == TREE_LOG || id == TREE_LOG_FIXUP) {
      throw new Refusal(RefusalReason.JOURNAL_NOT_EMPTY, "there is a log tree to be replayed");
    }
    Refusal.require(item.length() >= SMALLEST_ROOT, "a root that is cut off");
    BtrfsTree.Root root = new BtrfsTree.Root(id, item.u64(176), item.u8(238), item.u64(160));
    volume.noteBlock(root.address());
    if (id == EXTENT_TREE) {
      extents = only(key, root, extents);
    } else if (id == DEV_TREE) {
      device = only(key, root, device);
    } else if (id == FREE_SPACE_TREE) {
      freeSpace = only(key, root, freeSpace);
    } else if (!isKnown(id)) {
      throw Refusal.unsupported("an unknown tree " + Long.toUnsignedString(id));
    }
  }

  private static BtrfsTree.Root only(
      BtrfsKey key, BtrfsTree.Root root, BtrfsTree.@Nullable Root before) {
    Refusal.require(key.offset() == 0 && before == null, "a tree that is there twice");
    return root;
  }

  /** Subvolumes, and the trees of files, checksums, quotas and UUIDs. */
  private static boolean isKnown(long id) {
    return id == 5
        || id == 7
        || id == 8
        || id == 9
        || id == DATA_RELOC_TREE
        || id >= FIRST_SUBVOLUME;
  }

  BtrfsTree.Root extentTree() {
    return required(extents, "extent tree");
  }

  BtrfsTree.Root deviceTree() {
    return required(device, "device tree");
  }

  BtrfsTree.@Nullable Root freeSpaceTree() {
    return freeSpace;
  }

  private static BtrfsTree.Root required(BtrfsTree.@Nullable Root root, String name) {
    if (root == null) {
      throw Refusal.inconsistent("there is no " + name);
    }
    return root;
  }
}
