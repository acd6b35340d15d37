package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.AllowedOptions;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The StorageClass parameters {@code mapOptions} and {@code unmapOptions}: {@code
 * krbd:a,b;nbd:c;fuse:d}, and without a name for krbd. What they may be is in rbd(8) and
 * rbd-nbd(8): options that name files are not, nor those that the driver sets itself.
 */
public final class MapOptions {
  /** Settings of librbd, which rbd-nbd and qemu use. */
  private static final AllowedOptions LIBRBD =
      AllowedOptions.of(
          "rbd_cache=T rbd_cache_policy=(writethrough|writeback|writearound)",
          "rbd_cache_writethrough_until_flush=T rbd_cache_size=M rbd_cache_max_dirty=M",
          "rbd_cache_target_dirty=M rbd_cache_max_dirty_age=[0-9.]{1,9}",
          "rbd_cache_max_dirty_object=N rbd_cache_block_writes_upfront=T",
          "rbd_op_threads=C rbd_op_thread_timeout=N rbd_concurrent_management_ops=C",
          "rbd_readahead_trigger_requests=N rbd_readahead_max_bytes=M",
          "rbd_readahead_disable_after_bytes=S rbd_skip_partial_discard=T",
          "rbd_discard_on_zeroed_write_same=T rbd_discard_granularity_bytes=S",
          "rbd_sparse_read_threshold_bytes=S rbd_enable_alloc_hint=T",
          "rbd_compression_hint=(none|compressible|incompressible)",
          "rbd_read_from_replica_policy=(default|balance|localize)",
          "rbd_balance_snap_reads=T rbd_localize_snap_reads=T",
          "rbd_balance_parent_reads=T rbd_localize_parent_reads=T",
          "rbd_clone_copy_on_read=T rbd_blocklist_on_break_lock=T",
          "rbd_request_timed_out_seconds=N rbd_non_blocking_aio=T",
          "rbd_io_scheduler=(none|simple) rbd_io_scheduler_simple_max_delay=N",
          "rbd_qos_iops_limit=N rbd_qos_iops_burst=N rbd_qos_bps_limit=S rbd_qos_bps_burst=S",
          "rbd_qos_read_iops_limit=N rbd_qos_write_iops_limit=N",
          "rbd_qos_read_bps_limit=S rbd_qos_write_bps_limit=S",
          "rados_osd_op_timeout=N rados_mon_op_timeout=N client_mount_timeout=N",
          "objecter_inflight_ops=N objecter_inflight_op_bytes=M ms_async_op_threads=C",
          "ms_client_mode=[a-z\\x20]{1,40} ms_mon_client_mode=[a-z\\x20]{1,40}",
          "crush_location=[A-Za-z0-9_.:|\\x20-]{1,500}");

  public static final MapOptions MAP =
      new MapOptions(
          "mapOptions",
          AllowedOptions.of(
              "share noshare crc nocrc cephx_require_signatures nocephx_require_signatures",
              "cephx_sign_messages nocephx_sign_messages tcp_nodelay notcp_nodelay",
              "mount_timeout=N osdkeepalive=N osd_idle_ttl=N osd_request_timeout=N",
              "queue_depth=N lock_on_read exclusive lock_timeout=N notrim abort_on_full",
              "alloc_size=N crush_location=[A-Za-z0-9_.:|-]{1,500}",
              "read_from_replica=(no|balance|localize)",
              "compression_hint=(none|compressible|incompressible)",
              "ms_mode=(legacy|crc|secure|prefer-crc|prefer-secure) rxbounce udev noudev"),
          AllowedOptions.of(
                  "try-netlink exclusive quiesce io-timeout=N timeout=N reattach-timeout=N",
                  "max_part=C nbds_max=C notrim")
              .or(LIBRBD),
          LIBRBD);

  public static final MapOptions UNMAP =
      new MapOptions(
          "unmapOptions",
          AllowedOptions.of("force udev noudev"),
          AllowedOptions.of("force"),
          AllowedOptions.of("force"));

  private final String parameter;
  private final Map<AttacherKind, AllowedOptions> allowed = new EnumMap<>(AttacherKind.class);

  private MapOptions(
      String parameter, AllowedOptions krbd, AllowedOptions nbd, AllowedOptions fuse) {
    this.parameter = parameter;
    allowed.put(AttacherKind.KRBD, krbd);
    allowed.put(AttacherKind.NBD, nbd);
    allowed.put(AttacherKind.FUSE, fuse);
  }

  /**
   * The options for one attacher, between commas; those for others are checked, too.
   *
   * @param context the parameters of the StorageClass
   * @throws VolumeException INVALID_ARGUMENT for an attacher that does not exist, and for an option
   *     that is not allowed
   */
  public String of(Map<String, String> context, AttacherKind kind) {
    Map<AttacherKind, String> given = new EnumMap<>(AttacherKind.class);
    for (String part : context.getOrDefault(parameter, "").split(";", -1)) {
      int colon = part.indexOf(':');
      AttacherKind meant = colon < 0 ? AttacherKind.KRBD : kind(part.substring(0, colon).strip());
      List<String> options = split(part.substring(colon + 1));
      rules(meant).require(parameter + " of " + meant.mounter(), options);
      if (!options.isEmpty()) {
        given.merge(meant, String.join(",", options), (one, more) -> one + "," + more);
      }
    }
    return given.getOrDefault(kind, "");
  }

  /** Requires that those for all attachers are allowed, as {@link #of} does. */
  public void require(Map<String, String> context) {
    Objects.requireNonNull(of(context, AttacherKind.KRBD));
  }

  private AttacherKind kind(String name) {
    return AttacherKind.named(name)
        .orElseThrow(
            () -> VolumeException.invalid(parameter + ": an attacher is krbd, nbd or fuse"));
  }

  private AllowedOptions rules(AttacherKind kind) {
    return allowed.getOrDefault(kind, AllowedOptions.of());
  }

  /** Of options that were written down, also by others, those that are allowed. */
  public String kept(String options, AttacherKind kind) {
    return split(options).stream().filter(rules(kind)::allow).collect(Collectors.joining(","));
  }

  private static List<String> split(String options) {
    return Arrays.stream(options.split(",", -1))
        .map(String::strip)
        .filter(option -> !option.isEmpty())
        .toList();
  }
}
