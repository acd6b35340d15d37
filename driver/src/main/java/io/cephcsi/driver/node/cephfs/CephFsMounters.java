package io.cephcsi.driver.node.cephfs;

import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The ways in which this node may mount CephFS, the preferred first. Safe for several threads.
 *
 * @param all the ways
 */
public record CephFsMounters(List<CephFsMounter> all) {
  /** Copies the list. */
  public CephFsMounters {
    all = List.copyOf(all);
  }

  /**
   * The kernel, else ceph-fuse.
   *
   * @param location where this node is
   * @param servers where ceph-fuse runs
   */
  public static CephFsMounters usual(CrushLocation location, ServerCgroup servers) {
    return new CephFsMounters(List.of(new KernelMounter(location), new CephFuseMounter(servers)));
  }

  /**
   * The one to mount with.
   *
   * @param named of the StorageClass; empty for the first that this node can do
   * @throws VolumeException INVALID_ARGUMENT for a name that is not known; FAILED_PRECONDITION when
   *     this node cannot do it
   */
  CephFsMounter choose(Optional<String> named) {
    List<CephFsMounter> allowed =
        all.stream().filter(one -> named.isEmpty() || named.get().equals(one.name())).toList();
    if (allowed.isEmpty()) {
      throw VolumeException.invalid(
          "mounter must be "
              + all.stream().map(CephFsMounter::name).collect(Collectors.joining(" or "))
              + ", not "
              + named.orElse(""));
    }
    return allowed.stream()
        .filter(one -> one.unavailable().isEmpty())
        .findFirst()
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "this node cannot mount CephFS: "
                        + allowed.stream()
                            .map(one -> one.name() + ": " + one.unavailable().orElse(""))
                            .collect(Collectors.joining("; "))));
  }

  /** The one that made a mount; empty when it is of something else. */
  Optional<CephFsMounter> of(Mount mount) {
    return all.stream().filter(one -> one.made(mount)).findFirst();
  }
}
