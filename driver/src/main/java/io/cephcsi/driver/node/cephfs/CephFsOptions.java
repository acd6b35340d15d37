package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.node.machine.AllowedOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The options of mounts of CephFS, of the clusters file, the StorageClass and the capability.
 * Allowed is what shapes the mount, and nothing that says what is mounted, by whom, or with which
 * files of this node. Immutable.
 */
public final class CephFsOptions {
  /** Of mount.ceph(8). */
  static final CephFsOptions KERNEL =
      new CephFsOptions(
          "kernelMountOptions",
          AllowedOptions.of(
              "acl noacl rsize=N wsize=N rasize=N mount_timeout=N caps_wanted_delay_min=N",
              "caps_wanted_delay_max=N caps_max=N cap_release_safety=N readdir_max_entries=N",
              "readdir_max_bytes=N write_congestion_kb=N dirstat nodirstat rbytes norbytes",
              "asyncreaddir noasyncreaddir dcache nodcache ino32 noino32 fsc nofsc",
              "require_active_mds norequire_active_mds poolperm nopoolperm quotadf noquotadf",
              "copyfrom nocopyfrom wsync nowsync sparseread nosparseread share noshare crc nocrc",
              "cephx_require_signatures nocephx_require_signatures",
              "cephx_sign_messages nocephx_sign_messages tcp_nodelay notcp_nodelay",
              "osdkeepalive=N osd_idle_ttl=N osd_request_timeout=N recover_session=(no|clean)",
              "ms_mode=(legacy|crc|secure|prefer-crc|prefer-secure)",
              "read_from_replica=(no|balance|localize) crush_location=[A-Za-z0-9_.:|-]{1,500}"));

  /** Of ceph-fuse(8): those of FUSE's lower interface, which it uses, and of the kernel. */
  static final CephFsOptions FUSE =
      new CephFsOptions(
          "fuseMountOptions",
          AllowedOptions.of(
              "allow_other default_permissions nonempty debug max_read=N max_write=N",
              "max_readahead=N max_background=N congestion_threshold=N async_read sync_read",
              "big_writes atomic_o_trunc splice_read splice_write splice_move",
              "no_splice_read no_splice_write no_splice_move"));

  /** The capability and the access mode say this. */
  private static final Set<String> ACCESS = Set.of("ro", "rw");

  private final String parameter;
  private final AllowedOptions allowed;

  private CephFsOptions(String parameter, AllowedOptions own) {
    this.parameter = parameter;
    this.allowed = own.or(MountFlags.OF_ANY);
  }

  /**
   * Requires that the options of a StorageClass are allowed, those for each mounter.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void requireAll(Map<String, String> parameters) {
    KERNEL.require(parameters);
    FUSE.require(parameters);
  }

  /** Those of a mounter. */
  static CephFsOptions of(CephFsMounter mounter) {
    return mounter.name().equals("kernel") ? KERNEL : FUSE;
  }

  /**
   * Requires that the options of a StorageClass are allowed.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  List<String> require(Map<String, String> parameters) {
    List<String> options = MountFlags.split(List.of(parameters.getOrDefault(parameter, "")));
    allowed.require(parameter, options);
    return options;
  }

  /**
   * Requires that mount flags are allowed.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  void require(VolumeUse use) {
    allowed.require("mount_flags", use.mountFlags());
  }

  /**
   * Requires that mount flags are allowed for some mounter: which one mounts, the node decides.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void requireForSome(VolumeUse use) {
    if (!use.mountFlags().stream().allMatch(FUSE.allowed::allow)) {
      KERNEL.require(use);
    }
  }

  /** All for one mount; of two with the same name the last holds. */
  List<String> all(StageRequest request, ClusterConfig cluster) {
    String usual =
        this == KERNEL ? cluster.node().kernelMountOptions() : cluster.node().fuseMountOptions();
    List<String> all = new ArrayList<>(MountFlags.split(List.of(usual)));
    allowed.require("cephFS." + parameter + " of the clusters file", all);
    all.addAll(require(request.context()));
    require(request.use());
    all.addAll(request.use().mountFlags());
    Map<String, String> byName = new LinkedHashMap<>();
    for (String option : all) {
      String name = option.split("=", 2)[0];
      if (!ACCESS.contains(name)) {
        byName.remove(name);
        byName.put(name, option);
      }
    }
    return List.copyOf(byName.values());
  }
}
