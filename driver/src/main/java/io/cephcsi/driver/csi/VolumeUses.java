package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.node.GroupOwnership;
import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.node.cephfs.CephFsOptions;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import java.util.List;
import java.util.Optional;

/** Decodes how a volume is used on a node. */
public final class VolumeUses {
  private VolumeUses() {}

  /**
   * Decodes a required capability.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is incomplete or not supported
   */
  static VolumeUse required(boolean present, VolumeCapability capability, Storage storage) {
    if (!present) {
      throw VolumeException.invalid("volume_capability is required");
    }
    VolumeCapabilities.requireComplete(List.of(capability));
    Optional<String> reason =
        switch (storage) {
          case RBD -> VolumeCapabilities.unsupported(List.of(capability), true);
          case CEPHFS -> VolumeCapabilities.unsupportedByCephFs(List.of(capability));
        };
    if (reason.isPresent()) {
      throw VolumeException.invalid("volume_capability: " + reason.get());
    }
    return decode(capability);
  }

  /**
   * Why the nodes would refuse every such use, whatever the volume: by the file system, the mount
   * flags or the group.
   *
   * @return empty when they would not
   */
  static Optional<String> refusedByNodes(List<VolumeCapability> capabilities, Storage storage) {
    try {
      for (VolumeCapability capability : capabilities) {
        VolumeUse use = decode(capability);
        GroupOwnership.requireKnown(use);
        switch (storage) {
          case RBD -> {
            DiskFileSystems.requireKnown(use.fsType());
            MountFlags.require(use);
          }
          case CEPHFS -> CephFsOptions.requireForSome(use);
        }
      }
      return Optional.empty();
    } catch (VolumeException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private static VolumeUse decode(VolumeCapability capability) {
    VolumeCapability.MountVolume mount = capability.getMount();
    Mode mode = capability.getAccessMode().getMode();
    return new VolumeUse(
        capability.hasBlock(),
        mount.getFsType(),
        mount.getMountFlagsList(),
        mount.getVolumeMountGroup(),
        VolumeCapabilities.onlyReads(capability),
        mode == Mode.MULTI_NODE_READER_ONLY
            || mode == Mode.MULTI_NODE_SINGLE_WRITER
            || mode == Mode.MULTI_NODE_MULTI_WRITER,
        mode == Mode.SINGLE_NODE_SINGLE_WRITER);
  }

  /** Whether several nodes may write to a volume that is used so. */
  public static boolean writtenByMany(VolumeCapability capability) {
    Mode mode = capability.getAccessMode().getMode();
    return mode == Mode.MULTI_NODE_SINGLE_WRITER || mode == Mode.MULTI_NODE_MULTI_WRITER;
  }
}
