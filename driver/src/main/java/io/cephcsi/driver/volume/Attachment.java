package io.cephcsi.driver.volume;

import java.util.List;
import java.util.Optional;

/**
 * That a volume was given to a node.
 *
 * @param nodeId the node
 * @param readonly whether the node may only read
 * @param mode the access mode, by its name in CSI
 * @param access {@code mount} or {@code block}
 */
public record Attachment(String nodeId, boolean readonly, String mode, String access) {
  /** Whether the volume may be on this node only. */
  public boolean isSingleNode() {
    return mode.startsWith("SINGLE_NODE");
  }

  /** Whether this node may write, and no other beside it. */
  public boolean isOnlyWriter() {
    return mode.equals("MULTI_NODE_SINGLE_WRITER") && !readonly;
  }

  /**
   * Decides whether the node may have a volume.
   *
   * @param id the volume, for messages
   * @param present the attachments that the volume has
   * @return the attachment that there is already
   * @throws VolumeException ALREADY_EXISTS if the node has it in another way; FAILED_PRECONDITION
   *     if another node has it and it cannot be on both
   */
  public Optional<Attachment> requireCompatible(VolumeId id, List<Attachment> present) {
    for (Attachment other : present) {
      if (other.nodeId.equals(nodeId)) {
        if (!other.equals(this)) {
          throw new VolumeException(
              VolumeException.Reason.ALREADY_EXISTS,
              "volume " + id + " is published to node " + nodeId + " as " + other.describe());
        }
        return Optional.of(other);
      }
    }
    for (Attachment other : present) {
      if (isSingleNode() || other.isSingleNode() || (isOnlyWriter() && other.isOnlyWriter())) {
        throw new VolumeException(
            VolumeException.Reason.FAILED_PRECONDITION,
            "volume " + id + " is published to node " + other.nodeId + " as " + other.describe());
      }
    }
    return Optional.empty();
  }

  private String describe() {
    return mode + " " + access + (readonly ? ", read-only" : ", writable");
  }
}
