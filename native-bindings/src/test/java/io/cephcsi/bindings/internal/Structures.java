package io.cephcsi.bindings.internal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where the fields of C's structures lie: what the bindings rely on. */
final class Structures {
  private Structures() {}

  /**
   * A structure.
   *
   * @param name its C name
   * @param size in bytes
   * @param offsets of the fields, in bytes
   */
  record Structure(String name, int size, Map<String, Integer> offsets) {}

  static final List<Structure> ALL =
      List.of(
          of("struct rados_cluster_stat_t", 32, "kb 0, kb_used 8, kb_avail 16, num_objects 24"),
          of("struct notify_ack_t", 32, "notifier_id 0, cookie 8, payload 16, payload_len 24"),
          of("struct notify_timeout_t", 16, "notifier_id 0, cookie 8"),
          of(
              "rbd_image_info_t",
              160,
              "size 0, obj_size 8, num_objs 16, order 24, block_name_prefix 28, parent_pool 56,"
                  + " parent_name 64"),
          of("rbd_image_spec_t", 16, "id 0, name 8"),
          of(
              "rbd_linked_image_spec_t",
              48,
              "pool_id 0, pool_name 8, pool_namespace 16, image_id 24, image_name 32, trash 40"),
          of("rbd_snap_spec_t", 24, "id 0, namespace_type 8, name 16"),
          of("rbd_snap_info_t", 24, "id 0, size 8, name 16"),
          of(
              "rbd_trash_image_info_t",
              40,
              "id 0, name 8, source 16, deletion_time 24, deferment_end_time 32"),
          of("rbd_image_watcher_t", 24, "addr 0, id 8, cookie 16"),
          of("rbd_group_info_t", 16, "name 0, pool 8"),
          of("rbd_group_image_info_t", 24, "name 0, pool 8, state 16"),
          of("rbd_group_snap_info_t", 16, "name 0, state 8"),
          of("rbd_snap_group_namespace_t", 24, "group_pool 0, group_name 8, group_snap_name 16"),
          of("rbd_mirror_image_info_t", 16, "global_id 0, state 8, primary 12"),
          of(
              "rbd_mirror_image_site_status_t",
              40,
              "mirror_uuid 0, state 8, description 16, last_update 24, up 32"),
          of(
              "rbd_mirror_image_global_status_t",
              40,
              "name 0, info 8, site_statuses_count 24, site_statuses 32"),
          of(
              "struct ceph_statx",
              136,
              "stx_uid 12, stx_gid 16, stx_mode 20, stx_ino 24, stx_size 32, stx_mtime 96,"
                  + " stx_btime 112"),
          of("struct statvfs", 112, "f_frsize 8, f_blocks 16, f_bavail 32, f_files 40"));

  private static Structure of(String name, int size, String fields) {
    Map<String, Integer> offsets = new LinkedHashMap<>();
    for (String field : fields.split(", ", -1)) {
      String[] nameAndOffset = field.split(" ", -1);
      offsets.put(nameAndOffset[0], Integer.valueOf(nameAndOffset[1]));
    }
    return new Structure(name, size, offsets);
  }
}
