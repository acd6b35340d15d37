package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.RadosCluster;

/**
 * A connection that nobody shares. Close what was opened through it before. Safe for several
 * threads.
 *
 * @param cluster the connection
 * @param recorded that it is there
 */
public record ApartConnection(RadosCluster cluster, ClientRecord.Entry recorded)
    implements AutoCloseable {
  static ApartConnection of(RadosCluster cluster, ClientRecord record) {
    return new ApartConnection(cluster, record.connection(cluster));
  }

  @Override
  public void close() {
    cluster.close();
    recorded.close();
  }
}
