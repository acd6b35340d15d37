package io.cephcsi.bindings.cephfs;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.LibCephFs;
import io.cephcsi.bindings.rados.RadosCluster;

/** Sessions of other clients of a file system. */
public final class CephFsSession {
  private static final int RESET = 1; // CEPH_RECLAIM_RESET

  private CephFsSession() {}

  /**
   * Ends the session of a client that is dead, at once and for all metadata servers: they evict and
   * blocklist it ({@code ceph_start_reclaim} with {@code CEPH_RECLAIM_RESET}, {@code
   * ceph_finish_reclaim}). The user needs no right beyond that to mount. A client that lives loses
   * what it has not written; so know that it is dead. Blocks on the metadata servers without a
   * timeout.
   *
   * @param root a directory that the user may mount
   * @param session what it was given to {@link CephFsMount#mount(RadosCluster, String, String,
   *     String)}
   * @param own a name for the session that this opens meanwhile, for a second: if this process dies
   *     with it, the next one can end it, too
   * @return false if there is no such session, or no such file system
   * @throws io.cephcsi.bindings.error.CephException.Denied if it is a session of another user,
   *     which metadata servers of Ceph 16 end all the same
   */
  public static boolean end(
      RadosCluster cluster, String fileSystem, String root, String session, String own) {
    String what = fileSystem + ": session " + session;
    return cluster.use(
        (rados, arena) -> {
          long uuid = arena.cString(session);
          long ownUuid = arena.cString(own);
          long path = arena.cString(root);
          long mount = CephFsMount.prepare(rados, arena, fileSystem);
          try {
            LibCephFs.ceph_set_uuid(mount, ownUuid);
            int code = LibCephFs.ceph_start_reclaim(mount, uuid, RESET);
            LibCephFs.ceph_finish_reclaim(mount);
            LibCephFs.ceph_mount(mount, path); // so that our own session is closed, and not dropped
            if (code == -Errno.ENOENT.number()) {
              return false;
            }
            check(code, "ceph_start_reclaim", what);
            return true;
          } finally {
            CephFsMount.release(mount);
          }
        });
  }
}
