package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A volume group on one physical volume that has linear and striped logical volumes alone. Whatever
 * else is in it refuses it as a whole: a snapshot or a move that is under way changes what the
 * extents of other volumes mean.
 *
 * @param name of letters, digits and {@code +_.-}
 * @param id of the group
 * @param sequence number of the version of the metadata
 * @param volumes in the order of the metadata
 */
record LvmGroup(String name, String id, long sequence, List<LvmGroup.Volume> volumes) {
  private static final long MOST = 1L << 53;
  private static final int MOST_VOLUMES = 256;
  private static final int MOST_AREAS = 1024;
  private static final int SECTOR = 512;
  private static final int SHORTEST_STRIPE = 4096;

  private static final Set<String> ROOT =
      Set.of("contents", "version", "description", "creation_host", "creation_time");
  private static final Set<String> GROUP =
      Set.of(
          "id",
          "seqno",
          "format",
          "status",
          "flags",
          "tags",
          "system_id",
          "extent_size",
          "max_lv",
          "max_pv",
          "metadata_copies",
          "allocation_policy",
          "profile",
          "physical_volumes",
          "logical_volumes");
  private static final Set<String> PHYSICAL =
      Set.of(
          "id",
          "device",
          "device_id",
          "device_id_type",
          "status",
          "flags",
          "tags",
          "dev_size",
          "pe_start",
          "pe_count");
  private static final Set<String> LOGICAL =
      Set.of(
          "id",
          "status",
          "flags",
          "tags",
          "creation_time",
          "creation_host",
          "allocation_policy",
          "read_ahead",
          "profile",
          "segment_count");
  private static final Set<String> SEGMENT =
      Set.of(
          "start_extent", "extent_count", "type", "tags", "stripe_count", "stripe_size", "stripes");

  LvmGroup {
    volumes = List.copyOf(volumes);
  }

  /**
   * A logical volume.
   *
   * @param segments from byte 0 on without gaps, never empty
   */
  record Volume(String name, List<LvmSegment> segments) {
    Volume {
      segments = List.copyOf(segments);
    }
  }

  /**
   * @throws Refusal if the group is not certain in all respects, or not read here
   */
  static LvmGroup of(LvmSection root, LvmLabel label) {
    Refusal.require(
        root.text("contents").equals("Text Format Volume Group") && root.integer("version", 1) == 1,
        "LVM2 metadata that is not of a volume group");
    List<String> names = root.names().stream().filter(name -> !ROOT.contains(name)).toList();
    Refusal.require(names.size() == 1, "LVM2 metadata of " + names.size() + " volume groups");
    return new Builder(names.get(0), root.section(names.get(0)), label).build();
  }

  /** Puts a group together from its sections. */
  private static final class Builder {
    private final String name;
    private final LvmSection group;
    private final LvmLabel label;
    private final long extent;
    private final List<LvmLabel.Area> taken = new ArrayList<>();
    private String physicalName = "";
    private long extents;

    Builder(String name, LvmSection group, LvmLabel label) {
      this.name = name;
      this.group = group;
      this.label = label;
      this.extent = group.integer("extent_size", 1L << 32) * SECTOR;
    }

    LvmGroup build() {
      group.allow(GROUP, "the volume group");
      checkStatus(group, Set.of("READ", "WRITE", "RESIZEABLE"), Set.of("READ", "WRITE"), "group");
      Refusal.require(
          extent > 0 && (!group.has("format") || group.text("format").equals("lvm2")),
          "a volume group of another format");
      readPhysical();
      List<Volume> volumes = new ArrayList<>();
      if (group.has("logical_volumes")) {
        group
            .section("logical_volumes")
            .sections()
            .forEach((volume, section) -> volumes.add(volume(volume, section)));
      }
      if (volumes.isEmpty()) {
        throw new Refusal(RefusalReason.NO_FILE_SYSTEM, "the volume group has no logical volume");
      }
      if (volumes.size() > MOST_VOLUMES) {
        throw Refusal.unsupported("a volume group with " + volumes.size() + " logical volumes");
      }
      checkApart();
      return new LvmGroup(name, group.text("id"), group.integer("seqno", MOST), volumes);
    }

    private void readPhysical() {
      Map<String, LvmSection> all = group.section("physical_volumes").sections();
      if (all.size() != 1) {
        throw Refusal.unsupported("a volume group on " + all.size() + " physical volumes");
      }
      Map.Entry<String, LvmSection> only = all.entrySet().iterator().next();
      physicalName = only.getKey();
      LvmSection physical = only.getValue();
      physical.allow(PHYSICAL, "the physical volume");
      checkStatus(physical, Set.of("ALLOCATABLE"), Set.of(), "physical volume");
      Refusal.require(
          physical.text("id").replace("-", "").equals(label.id()),
          "the metadata is of another physical volume");
      long start = physical.integer("pe_start", MOST) * SECTOR;
      long size = physical.integer("dev_size", MOST) * SECTOR;
      extents = physical.integer("pe_count", 1L << 32);
      Refusal.require(
          start == label.dataStart() && size <= label.size() && extents <= (size - start) / extent,
          "the physical volume does not fit its device");
      long end = start + extents * extent;
      Refusal.require(
          label.areas().stream().noneMatch(area -> area.meets(start, end)),
          "the extents of the physical volume meet its metadata");
    }

    private Volume volume(String volumeName, LvmSection volume) {
      String what = "the logical volume " + name + "/" + volumeName;
      volume.allow(withSegments(volume), what);
      Set<String> status = Set.of("READ", "WRITE", "VISIBLE");
      checkStatus(volume, status, status, what);
      long count = volume.integer("segment_count", MOST_AREAS);
      List<LvmSegment> segments = new ArrayList<>();
      long next = 0;
      for (int i = 1; i <= count; i++) {
        LvmSection section = volume.section("segment" + i);
        Refusal.require(
            section.integer("start_extent", MOST) == next, what + " has a gap in its segments");
        segments.add(segment(next, section, what));
        next += section.integer("extent_count", 1L << 32);
      }
      Refusal.require(!segments.isEmpty(), what + " has no segment");
      return new Volume(volumeName, segments);
    }

    /** The names that a logical volume may have: the usual, and those of its segments. */
    private static Set<String> withSegments(LvmSection volume) {
      Set<String> names = new HashSet<>(LOGICAL);
      long count = volume.integer("segment_count", MOST_AREAS);
      for (int i = 1; i <= count; i++) {
        names.add("segment" + i);
      }
      return names;
    }

    private LvmSegment segment(long first, LvmSection segment, String what) {
      String type = segment.text("type");
      if (!type.equals("striped")) {
        throw Refusal.unsupported(what + " is of type " + type);
      }
      segment.allow(SEGMENT, "a segment of " + what);
      int stripes = (int) segment.integer("stripe_count", MOST_AREAS);
      long count = segment.integer("extent_count", 1L << 32);
      Refusal.require(
          stripes > 0 && count > 0 && count % stripes == 0, what + " has an odd segment");
      long each = count / stripes;
      long chunk =
          stripes == 1 ? count * extent : segment.integer("stripe_size", 1L << 32) * SECTOR;
      Refusal.require(
          chunk >= SHORTEST_STRIPE && each * extent % chunk == 0,
          what + " has stripes of an odd size");
      List<?> list = segment.list("stripes");
      Refusal.require(list.size() == 2 * stripes, what + " has another number of stripes");
      List<Long> areas = new ArrayList<>();
      for (int i = 0; i < list.size(); i += 2) {
        areas.add(
            area(
                LvmSection.as("stripes", list.get(i), String.class),
                LvmSection.as("stripes", list.get(i + 1), Long.class),
                each,
                what));
      }
      return new LvmSegment(first * extent, count * extent, chunk, areas);
    }

    private long area(String on, long at, long count, String what) {
      if (!on.equals(physicalName)) {
        throw Refusal.unsupported(what + " lies on another volume");
      }
      Refusal.require(
          at >= 0 && at <= extents - count, what + " lies outside of the physical volume");
      if (taken.size() == MOST_AREAS) {
        throw Refusal.unsupported("a volume group with more than " + MOST_AREAS + " areas");
      }
      LvmLabel.Area area = new LvmLabel.Area(label.dataStart() + at * extent, count * extent);
      taken.add(area);
      return area.offset();
    }

    private void checkApart() {
      taken.sort(Comparator.comparingLong(LvmLabel.Area::offset));
      for (int i = 1; i < taken.size(); i++) {
        Refusal.require(taken.get(i).offset() >= taken.get(i - 1).end(), "logical volumes overlap");
      }
    }

    private static void checkStatus(
        LvmSection section, Set<String> known, Set<String> needed, String what) {
      List<String> status = section.texts("status");
      if (!known.containsAll(status)
          || !status.containsAll(needed)
          || !section.texts("flags").isEmpty()) {
        throw Refusal.unsupported(
            "the "
                + what.replaceFirst("^the ", "")
                + " has status "
                + status
                + " and flags "
                + section.texts("flags"));
      }
    }
  }
}
