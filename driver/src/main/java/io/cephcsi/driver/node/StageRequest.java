package io.cephcsi.driver.node;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.volume.StaticVolume;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * A volume that is to be staged on this node.
 *
 * @param volumeId which volume
 * @param staticVolume what the context says of a static volume; empty for others
 * @param stagingPath the CO's directory for it
 * @param use how it will be used
 * @param context the volume's context: the parameters of its StorageClass
 * @param credentials who uses it
 */
public record StageRequest(
    String volumeId,
    Optional<StaticVolume> staticVolume,
    Path stagingPath,
    VolumeUse use,
    Map<String, String> context,
    Credentials credentials) {
  /** Copies the map. */
  public StageRequest {
    context = Map.copyOf(context);
  }

  /** The same at another spelling of its path. */
  StageRequest at(Path staging) {
    return new StageRequest(volumeId, staticVolume, staging, use, context, credentials);
  }
}
