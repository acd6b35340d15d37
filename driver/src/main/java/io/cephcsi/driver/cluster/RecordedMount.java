package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.UUID;

/**
 * A mounted file system whose session the next process can end if this one is killed. Safe for
 * several threads.
 *
 * @param mount the file system
 * @param recorded that it is there
 */
public record RecordedMount(CephFsMount mount, ClientRecord.Entry recorded)
    implements AutoCloseable {
  /** Mounts for a command: if it is killed, its session ends when the cluster gives it up. */
  public static RecordedMount ofCommand(RadosCluster cluster, String fileSystem, String root) {
    return open(cluster, ClientRecord.none(), fileSystem, root);
  }

  static RecordedMount open(
      RadosCluster cluster, ClientRecord record, String fileSystem, String root) {
    String session = UUID.randomUUID().toString();
    ClientRecord.Entry recorded = record.session(cluster, fileSystem, root, session);
    try {
      return new RecordedMount(CephFsMount.mount(cluster, fileSystem, root, session), recorded);
    } catch (RuntimeException e) {
      recorded.close();
      throw e;
    }
  }

  /** Closes it, which takes a second. */
  @Override
  public void close() {
    mount.close();
    recorded.close();
  }
}
