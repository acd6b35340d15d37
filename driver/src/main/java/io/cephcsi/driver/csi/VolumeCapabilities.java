package io.cephcsi.driver.csi;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Which capabilities a volume can have. */
final class VolumeCapabilities {
  private VolumeCapabilities() {}

  /**
   * Checks that a request says how the volume will be used.
   *
   * @throws VolumeException INVALID_ARGUMENT naming what is missing
   */
  static void requireComplete(List<VolumeCapability> capabilities) {
    if (capabilities.isEmpty()) {
      throw VolumeException.invalid("volume_capabilities is required");
    }
    for (VolumeCapability capability : capabilities) {
      requireComplete(capability);
    }
  }

  private static void requireComplete(VolumeCapability capability) {
    if (capability.getAccessTypeCase() == VolumeCapability.AccessTypeCase.ACCESSTYPE_NOT_SET) {
      throw VolumeException.invalid("volume_capabilities: access_type is required");
    }
    if (capability.getAccessMode().getMode() == Mode.UNKNOWN) {
      throw VolumeException.invalid("volume_capabilities: access_mode is required");
    }
  }

  /**
   * Why RBD cannot serve a use.
   *
   * @param fromSource whether the volume has content from a snapshot or volume: only then can
   *     several nodes mount it, for reading
   * @return empty when it can
   */
  static Optional<String> unsupported(List<VolumeCapability> capabilities, boolean fromSource) {
    boolean block = capabilities.stream().anyMatch(VolumeCapability::hasBlock);
    boolean mount = capabilities.stream().anyMatch(VolumeCapability::hasMount);
    if (block && mount) {
      return Optional.of("a volume is used as a block device or mounted, not both");
    }
    return capabilities.stream()
        .map(capability -> unsupported(capability, fromSource))
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** Whether a use only reads. */
  static boolean onlyReads(VolumeCapability capability) {
    Mode mode = capability.getAccessMode().getMode();
    return mode == Mode.SINGLE_NODE_READER_ONLY || mode == Mode.MULTI_NODE_READER_ONLY;
  }

  /** Why CephFS cannot serve a use; empty when it can: it is mounted, in every access mode. */
  static Optional<String> unsupportedByCephFs(List<VolumeCapability> capabilities) {
    return capabilities.stream()
        .flatMap(
            capability ->
                capability.hasBlock()
                    ? Stream.of("CephFS has no block volumes: they are mounted")
                    : unknownMode(capability).stream())
        .findFirst();
  }

  private static Optional<String> unknownMode(VolumeCapability capability) {
    Mode mode = capability.getAccessMode().getMode();
    return mode == Mode.UNKNOWN || mode == Mode.UNRECOGNIZED
        ? Optional.of("access mode " + mode + " is not supported")
        : Optional.empty();
  }

  private static Optional<String> unsupported(VolumeCapability capability, boolean fromSource) {
    Mode mode = capability.getAccessMode().getMode();
    return switch (mode) {
      case SINGLE_NODE_WRITER,
          SINGLE_NODE_READER_ONLY,
          SINGLE_NODE_SINGLE_WRITER,
          SINGLE_NODE_MULTI_WRITER ->
          Optional.empty();
      case MULTI_NODE_READER_ONLY ->
          capability.hasBlock() || fromSource
              ? Optional.empty()
              : Optional.of(
                  "access mode "
                      + mode
                      + " of a mounted volume needs a volume_content_source: an empty volume cannot"
                      + " be filled through it");
      case MULTI_NODE_SINGLE_WRITER, MULTI_NODE_MULTI_WRITER ->
          capability.hasBlock()
              ? Optional.empty()
              : Optional.of(
                  "access mode "
                      + mode
                      + " of RBD is for block volumes only: a file system that several nodes mount"
                      + " would be corrupted");
      case UNKNOWN, UNRECOGNIZED -> Optional.of("access mode " + mode + " is not supported");
    };
  }
}
