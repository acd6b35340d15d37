package io.cephcsi.driver.node.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.node.KubeletPaths;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.MountOwner;
import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Which mounts on this node show CephFS volumes. Safe for several threads.
 *
 * @param mounters of this node
 * @param stagings what is staged where
 * @param probes ask the file systems
 */
record CephFsMounts(CephFsMounters mounters, StagingRecords stagings, LivenessProbes probes)
    implements MountOwner {
  /**
   * Whether what served a mount has ended, or its cluster has cut it off, which ceph-fuse tells as
   * ESHUTDOWN or ENOENT and the kernel as EACCES or EIO; one that only does not answer may come
   * back.
   */
  @Override
  public boolean isDead(Mount mount) {
    try {
      if (probes.room(mount).isPresent()) {
        return false;
      }
    } catch (CephException e) {
      return switch (e.errno()) {
        case ENOTCONN, ESHUTDOWN, ESTALE, ENOENT, EACCES, EIO -> true;
        default -> throw e;
      };
    }
    throw new VolumeException(
        Reason.UNAVAILABLE,
        mount.target() + " does not answer: its cluster may be out of reach; try again later");
  }

  @Override
  public boolean isOfKind(Mount mount) {
    return mounters.of(mount).isPresent();
  }

  @Override
  public Optional<Boolean> isStagedAs(String volumeId, Mount mount) {
    MountTable table = MountTable.read();
    if (stagings.find(volumeId).flatMap(table::at).filter(it -> isOf(it, mount)).isPresent()) {
      return Optional.of(true);
    }
    return table.all().stream()
            .filter(it -> isOf(it, mount))
            .map(Mount::target)
            .anyMatch(stagings::has)
        ? Optional.of(false)
        : Optional.empty();
  }

  /** Whether it shows what is staged, or the encrypted files of that. */
  static boolean isOf(Mount staged, Mount mount) {
    return staged.shows(mount) || staged.part(EncryptedFolder.NAME).shows(mount);
  }

  @Override
  public boolean isStaging(Path path) {
    return (KubeletPaths.isStaging(path) || stagings.has(path))
        && MountTable.read().at(path).isPresent();
  }
}
