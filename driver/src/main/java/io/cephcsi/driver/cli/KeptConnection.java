package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.RadosCluster;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The connection over which a thread reclaims images, one after the other: at any time it is that
 * of one image, so whoever breaks the lock of the image shuts out the work on this image only.
 * After anything else than success it must be dropped, as it may be shut out. Used by one thread,
 * always with the same options.
 */
final class KeptConnection implements CliTarget.Connector, AutoCloseable {
  private final ClusterOptions connection;
  private @Nullable RadosCluster kept;

  KeptConnection(ClusterOptions connection) {
    this.connection = connection;
  }

  @Override
  public RadosCluster connect(Map<String, String> options) {
    RadosCluster cluster = kept == null ? connection.connect(options) : kept;
    kept = cluster;
    return cluster;
  }

  @Override
  public void release(RadosCluster cluster) {
    // it is kept for the next image
  }

  /** Ends the connection; the next image gets another. */
  @Override
  public void close() {
    RadosCluster last = kept;
    kept = null;
    if (last != null) {
      last.close();
    }
  }
}
