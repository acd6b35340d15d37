package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;

/**
 * The other sites that a pool is mirrored with. The default namespace has them for all namespaces.
 *
 * <pre>
 *   rbd_mirroring    mirror_peer_list    out u32 n · n × peer
 * </pre>
 */
public final class MirrorPeers {
  private static final String MIRRORING = "rbd_mirroring";

  private MirrorPeers() {}

  /**
   * Whether a pool has a peer; one round trip. Blocks, and is safe for several threads.
   *
   * @param io the pool, in any namespace
   * @return true also if this user may not read the default namespace: then it is not known
   * @throws CephException if the pool cannot be read
   */
  public static boolean exist(IoContext io) {
    try (IoContext whole = io.cluster().openPool(io.pool());
        ReadOperation read = new ReadOperation()) {
      ReadOperation.Result<byte[]> peers = RbdClass.call("mirror_peer_list").addTo(read);
      whole.operate(MIRRORING, read);
      return ClassOutput.decode("mirror_peer_list", peers.get(), ClassOutput::u32) != 0;
    } catch (CephException.NotFound e) {
      return false;
    } catch (CephException.Denied e) {
      return true;
    }
  }
}
