package io.cephcsi.driver.node;

import java.nio.file.Path;
import java.util.Map;

/**
 * A staged volume that is to be shown to a workload.
 *
 * @param volumeId which volume
 * @param stagingPath where it is staged
 * @param target where it is to be shown
 * @param use how it will be used
 * @param readOnly whether this workload only reads
 * @param context the volume's context
 */
public record PublishRequest(
    String volumeId,
    Path stagingPath,
    Path target,
    VolumeUse use,
    boolean readOnly,
    Map<String, String> context) {
  /** Copies the map. */
  public PublishRequest {
    context = Map.copyOf(context);
  }

  /** The same at other spellings of its paths. */
  PublishRequest at(Path staging, Path targetPath) {
    return new PublishRequest(volumeId, staging, targetPath, use, readOnly, context);
  }

  /** Whether nothing may be written through the target. */
  public boolean refusesWrites() {
    return readOnly || use.mountedReadOnly();
  }
}
