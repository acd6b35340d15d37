package io.cephcsi.driver.node.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A way in which a part of a Ceph file system is mounted on this node. All calls block, with
 * deadlines, and may be repeated after a crash at any point. Unmounting is the same for all: {@link
 * Mounts#unmountAll}, then {@link #awaitEnd}. Safe for several threads.
 */
public interface CephFsMounter {
  /** The value of the StorageClass parameter {@code mounter}: {@code kernel} or {@code fuse}. */
  String name();

  /** Why this node cannot do it; empty when it can. */
  Optional<String> unavailable();

  /** Whether a mount is one of this mounter's. */
  boolean made(Mount mount);

  /**
   * Whether a mount of this mounter's shows a file system from this root on, or a part below it
   * ({@link Mount#root}); one that does not tell is taken to.
   */
  boolean shows(Mount mount, String fileSystem, String root);

  /**
   * Mounts; the target is an empty directory where nothing is mounted.
   *
   * @throws CommandException if a program fails
   * @throws VolumeException NOT_FOUND if the root is gone, UNAVAILABLE if no MDS serves it
   * @throws CephException if the user may not mount it, or the cluster does not answer
   */
  void mount(Request request, Path target);

  /**
   * Waits until what served a mount has ended, after it was taken away: what was written is on the
   * cluster then.
   *
   * @param target where it was mounted first
   */
  void awaitEnd(Path target);

  /**
   * What to mount.
   *
   * @param cluster the cluster
   * @param credentials who mounts
   * @param fileSystem the name of the file system
   * @param root the path inside it
   * @param readOnly whether the mount refuses writes
   * @param options mount options of configuration, StorageClass and capability, in this order
   */
  record Request(
      ClusterConfig cluster,
      Credentials credentials,
      String fileSystem,
      String root,
      boolean readOnly,
      List<String> options) {
    /** Copies the options. */
    public Request {
      options = List.copyOf(options);
    }

    /** The same, as a mount of the kernel that has nothing in common with others. */
    Request unshared() {
      List<String> own = new ArrayList<>(options);
      own.remove("share");
      own.remove("noshare");
      own.add("noshare");
      return new Request(cluster, credentials, fileSystem, root, readOnly, own);
    }
  }
}
