package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Reads a device part by part: partitions, in them or instead of them an LVM2 physical volume, and
 * a file system in each partition and logical volume. A part that is not understood has no free
 * range, and leaves the others theirs. A table that is not certain has none at all.
 *
 * <p>A part that a system keeps open makes all of them refuse: a hibernated system has what it did
 * not write yet in the other file systems, too, and most of them do not show it. So do hashes of
 * dm-verity, which hold for the free blocks of another part as well. A part that was not unmounted,
 * or that was refused and may be mounted, makes those refuse that do not show whether they were:
 * the system may be suspended, not dead.
 */
final class ContentTree {
  private static final int SECTOR = 512;

  private final Device device;

  /** Of file systems that tell when they are mounted, and of the others. */
  private final RangePlans plans;

  private final RangePlans unmarked;

  ContentTree(Device device) {
    this.device = device;
    this.plans = new RangePlans(device.memory().forRanges());
    this.unmarked = new RangePlans(device.memory().forRanges());
  }

  Survey survey() throws IOException {
    Content content = Content.of(device);
    if (content.is(FileSystemKind.LVM2)) {
      return answer(group("", device));
    }
    if (!content.is(FileSystemKind.GPT) && !content.is(FileSystemKind.MBR)) {
      Inspection inspection = content.inspect();
      return new Survey(inspection, ContentNode.leaf("", 0, device.size(), inspection));
    }
    FileSystemKind kind = content.is(FileSystemKind.GPT) ? FileSystemKind.GPT : FileSystemKind.MBR;
    try {
      List<Partition> table =
          kind == FileSystemKind.GPT
              ? GuidPartitionTable.read(device, content.start())
              : MasterBootRecord.read(device, content.start());
      return answer(ContentNode.of("", kind, 0, device.size(), partitions(table)));
    } catch (Refusal refusal) {
      return answer(ContentNode.leaf("", 0, device.size(), refusal.of(kind)));
    }
  }

  private List<ContentNode> partitions(List<Partition> table) throws IOException {
    List<ContentNode> parts = new ArrayList<>();
    List<Integer> physicalVolumes = new ArrayList<>();
    for (Partition partition : table) {
      Content content = Content.of(partition.on(device));
      if (content.kinds().contains(FileSystemKind.LVM2)) {
        physicalVolumes.add(parts.size());
      }
      Inspection inspection =
          partition.usual() ? content.inspect() : partition.refusal().of(kind(partition, content));
      parts.add(leaf(partition.name(), content.device(), inspection));
    }
    for (int at : physicalVolumes) {
      if (parts.get(at).kind() == FileSystemKind.LVM2 && table.get(at).usual()) {
        parts.set(at, physicalVolume(table.get(at), physicalVolumes.size() == 1));
      }
    }
    return parts;
  }

  private static FileSystemKind kind(Partition partition, Content content) {
    if (content.kinds().isEmpty() && partition.type() == PartitionType.BOOT) {
      return FileSystemKind.BOOT;
    }
    return content.kinds().size() == 1 ? content.kinds().iterator().next() : FileSystemKind.UNKNOWN;
  }

  private ContentNode physicalVolume(Partition partition, boolean alone) throws IOException {
    Device part = partition.on(device);
    if (alone) {
      return group(partition.name(), part);
    }
    // One may belong to the group of the other, or be an older copy of it.
    Inspection several =
        Refusal.unsupported("the device has several LVM2 physical volumes").of(FileSystemKind.LVM2);
    return leaf(partition.name(), part, several);
  }

  private ContentNode group(String name, Device part) throws IOException {
    long before = part.memory().taken();
    try {
      LvmGroup group = LvmLabel.read(part).group(part);
      List<ContentNode> volumes = new ArrayList<>();
      for (LvmGroup.Volume volume : group.volumes()) {
        volumes.add(logicalVolume(group.name() + "/" + volume.name(), part, volume));
      }
      return ContentNode.of(name, FileSystemKind.LVM2, part.start(), part.size(), volumes);
    } catch (Refusal refusal) {
      return leaf(name, part, refusal.of(FileSystemKind.LVM2));
    } finally {
      part.memory().giveAllBut(before);
    }
  }

  private ContentNode logicalVolume(String name, Device part, LvmGroup.Volume volume)
      throws IOException {
    LvmDevice mapped = new LvmDevice(part, volume.segments());
    Inspection inspection = Content.of(new Device(mapped, part.memory())).inspect();
    if (inspection instanceof Inspection.Clean clean) {
      mapped.mapBack(clean, plansFor(clean.kind()));
    }
    return ContentNode.leaf(name, mapped.start(), mapped.size(), inspection);
  }

  private ContentNode leaf(String name, Device part, Inspection inspection) {
    if (inspection instanceof Inspection.Clean clean) {
      plansFor(clean.kind()).addAll(clean.plans());
    }
    return ContentNode.leaf(name, part.start(), part.size(), inspection);
  }

  private RangePlans plansFor(FileSystemKind kind) {
    return kind.hasMountMark() ? plans : unmarked;
  }

  private Survey answer(ContentNode found) {
    ContentNode root = found;
    List<ContentNode> leaves = root.leaves();
    Optional<ContentNode> open = leaves.stream().filter(ContentTree::isOpen).findFirst();
    if (open.isPresent() && leaves.size() > 1) {
      RefusalReason reason = open.get().reason().orElseThrow();
      String detail = open.get().name() + ": " + open.get().detail();
      return new Survey(
          new Inspection.Refused(open.get().kind(), reason, detail),
          root.refused(reason, detail, kind -> true));
    }
    Optional<ContentNode> mounted = leaves.stream().filter(ContentTree::isMounted).findFirst();
    String is = mounted.isPresent() ? " is: " : " may be: ";
    mounted =
        mounted.or(() -> found.leaves().stream().filter(ContentTree::mayBeMounted).findFirst());
    if (mounted.isPresent()) {
      root =
          root.refused(
              mounted.get().reason().orElseThrow(),
              "may be in use, as " + mounted.get().name() + is + mounted.get().detail(),
              kind -> !kind.hasMountMark());
      leaves = root.leaves();
    } else {
      plans.addAll(unmarked);
    }
    Optional<ContentNode> clean = largest(leaves, true);
    if (clean.isPresent()) {
      return new Survey(
          new Inspection.Clean(clean.get().kind(), SECTOR, device.size(), plans), root);
    }
    ContentNode node = largest(leaves, false).orElse(root);
    String detail = node.name().isEmpty() ? node.detail() : node.name() + ": " + node.detail();
    return new Survey(
        new Inspection.Refused(
            node.kind(), node.reason().orElse(RefusalReason.NO_FILE_SYSTEM), detail),
        root);
  }

  private static Optional<ContentNode> largest(List<ContentNode> leaves, boolean clean) {
    return leaves.stream()
        .filter(leaf -> leaf.reason().isEmpty() == clean)
        .max(Comparator.comparingLong(ContentNode::size));
  }

  /**
   * Mounted when its system ended or was suspended. A suspended one has its memory elsewhere, keeps
   * no watch, and goes on with all that it had open.
   */
  private static boolean isMounted(ContentNode leaf) {
    return leaf.reason()
        .map(
            reason ->
                reason == RefusalReason.NOT_CLEAN || reason == RefusalReason.JOURNAL_NOT_EMPTY)
        .orElse(false);
  }

  /**
   * Refused, so that it is not known whether it was unmounted: most reasons come before a mark is
   * looked at, and encrypted or unknown content shows none.
   */
  private static boolean mayBeMounted(ContentNode leaf) {
    return leaf.reason().isPresent()
        && switch (leaf.kind()) {
          case BLANK, SWAP, BOOT -> false;
          default -> true;
        };
  }

  /** In use or hibernated, or of a Windows that was not shut down, which hides that it is. */
  private static boolean isOpen(ContentNode leaf) {
    if (leaf.kind() == FileSystemKind.VERITY) {
      return true;
    }
    boolean windows = leaf.kind() == FileSystemKind.NTFS;
    return leaf.reason()
        .map(
            reason ->
                switch (reason) {
                  case IN_USE -> true;
                  case NOT_CLEAN, JOURNAL_NOT_EMPTY -> windows;
                  default -> false;
                })
        .orElse(false);
  }
}
