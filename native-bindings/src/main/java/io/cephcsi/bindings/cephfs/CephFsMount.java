package io.cephcsi.bindings.cephfs;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibCephFs;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.rados.RadosCluster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A file system mounted inside this process ({@code struct ceph_mount_info *}), with the user,
 * monitors and settings of a connection. Paths begin with a slash and are relative to the root that
 * is mounted.
 *
 * <p>A mount is a client of the MDS: what it looked at, it has capabilities for, until it is
 * closed. When the process dies with a mount open, the MDS waits for it up to a minute before
 * others can change those directories, unless another client ends its session by {@link
 * CephFsSession#end}; so close a mount soon. Closing takes a second, as libcephfs ends its threads
 * at their next tick.
 */
public final class CephFsMount extends NativeHandle {
  private static final int NAMES_BYTES = 16 << 10;
  private static final int VALUE_BYTES = 256;

  private final String fileSystem;
  private final String root;

  private CephFsMount(RadosCluster cluster, String fileSystem, String root, long pointer) {
    super("mount of " + fileSystem + ":" + root, cluster, pointer, true);
    this.fileSystem = fileSystem;
    this.root = root;
  }

  /**
   * Mounts ({@code ceph_create_from_rados}, {@code ceph_select_filesystem}, {@code ceph_mount}).
   *
   * @param cluster whose user and settings are used; it cannot be closed before the mount
   * @param fileSystem the name of the file system
   * @param root the directory that becomes the root of the mount, such as {@code /volumes}; the
   *     user's capabilities must allow it
   * @throws CephException.Denied if they do not
   * @throws CephException.NotFound if there is no such file system or directory
   * @throws CephException.TimedOut if no MDS answers within the connection's timeout
   */
  public static CephFsMount mount(RadosCluster cluster, String fileSystem, String root) {
    return mount(cluster, fileSystem, root, "");
  }

  /**
   * As {@link #mount(RadosCluster, String, String)}, with a name for the session ({@code
   * ceph_set_uuid}), by which another client of the same user can end it.
   *
   * @param session a text that no other client has; empty for none
   */
  public static CephFsMount mount(
      RadosCluster cluster, String fileSystem, String root, String session) {
    return cluster.use(
        (rados, arena) -> {
          long uuid = arena.cString(session); // may refuse, so before there is anything to destroy
          long path = arena.cString(root);
          long mount = prepare(rados, arena, fileSystem);
          try {
            if (!session.isEmpty()) {
              LibCephFs.ceph_set_uuid(mount, uuid);
            }
            check(LibCephFs.ceph_mount(mount, path), "ceph_mount", fileSystem + ":" + root);
          } catch (CephException e) {
            release(mount);
            throw e;
          }
          return new CephFsMount(cluster, fileSystem, root, mount);
        });
  }

  /** A mount that is not mounted yet; {@link #release} it. */
  static long prepare(long rados, NativeArena arena, String fileSystem) {
    long name = arena.cString(fileSystem);
    long out = arena.cell(0);
    check(LibCephFs.ceph_create_from_rados(out, rados), "ceph_create_from_rados", fileSystem);
    long mount = arena.getLong(out);
    try {
      check(LibCephFs.ceph_init(mount), "ceph_init", fileSystem);
      check(LibCephFs.ceph_select_filesystem(mount, name), "ceph_select_filesystem", fileSystem);
    } catch (CephException e) {
      release(mount);
      throw e;
    }
    return mount;
  }

  @Override
  protected void destroy(long pointer) {
    release(pointer);
  }

  static void release(long mount) {
    LibCephFs.ceph_unmount(
        mount); // ENOTCONN when it was never mounted: then there is nothing to do
    LibCephFs.ceph_release(mount);
  }

  /** The name of the file system. */
  public String fileSystem() {
    return fileSystem;
  }

  /** The directory that is mounted. */
  public String root() {
    return root;
  }

  /** The id of the file system ({@code ceph_get_fs_cid}). */
  public long fileSystemId() {
    return use(
        (mount, arena) -> check(LibCephFs.ceph_get_fs_cid(mount), "ceph_get_fs_cid", toString()));
  }

  /** The id of this client on the cluster ({@code ceph_get_instance_id}), the N of client.N. */
  public long instanceId() {
    return use((mount, arena) -> LibCephFs.ceph_get_instance_id(mount));
  }

  /** The path as the whole file system has it, for messages. */
  String describe(String path) {
    return fileSystem + ":" + (root.equals("/") ? "" : root) + path;
  }

  /**
   * What a file or directory is ({@code ceph_statx}); a symbolic link is not followed.
   *
   * @throws CephException.NotFound if there is none
   */
  public FileStatus status(String path) {
    return use(
        (mount, arena) -> {
          long stat = arena.allocate(FileStatus.BYTES);
          check(
              LibCephFs.ceph_statx(
                  mount, arena.cString(path), stat, FileStatus.WANTED, FileStatus.NO_FOLLOW),
              "ceph_statx",
              describe(path));
          return FileStatus.decode(stat);
        });
  }

  /** As {@link #status}; empty if there is no such file or directory. */
  public Optional<FileStatus> find(String path) {
    try {
      return Optional.of(status(path));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * The room of the mount: of the quota of its root, or of the file system ({@code ceph_statfs}).
   */
  public FileSystemSpace space() {
    return use(
        (mount, arena) -> {
          long stat = arena.allocate(FileSystemSpace.BYTES);
          check(LibCephFs.ceph_statfs(mount, arena.cString("/"), stat), "ceph_statfs", toString());
          return FileSystemSpace.decode(stat);
        });
  }

  /**
   * Opens a directory ({@code ceph_opendir}).
   *
   * @throws CephException.NotFound if there is none
   */
  public CephFsDirectory openDirectory(String path) {
    return use(
        (mount, arena) -> {
          long out = arena.cell(0);
          check(
              LibCephFs.ceph_opendir(mount, arena.cString(path), out),
              "ceph_opendir",
              describe(path));
          return new CephFsDirectory(this, describe(path), arena.getLong(out));
        });
  }

  /**
   * The names in a directory, without . and .. ({@code ceph_getdnames}): some hundred in a round
   * trip, none for each.
   *
   * @throws CephException.NotFound if there is no such directory
   */
  public List<String> names(String path) {
    List<String> names = new ArrayList<>();
    try (CephFsDirectory directory = openDirectory(path)) {
      directory.skipDots();
      List<String> some = directory.nextNames(NAMES_BYTES);
      while (!some.isEmpty()) {
        names.addAll(some);
        some = directory.nextNames(NAMES_BYTES);
      }
    }
    return names;
  }

  /**
   * Makes a directory ({@code ceph_mkdir}); in {@code .snap} of another one it makes a snapshot.
   *
   * @param mode permissions, such as 0755
   * @throws CephException.AlreadyExists if it is there
   */
  public void makeDirectory(String path, int mode) {
    call(
        "ceph_mkdir",
        describe(path),
        (m, arena) -> LibCephFs.ceph_mkdir(m, arena.cString(path), mode));
  }

  /** Makes a directory and those above it, unless they are there ({@code ceph_mkdirs}). */
  public void makeDirectories(String path, int mode) {
    call(
        "ceph_mkdirs",
        describe(path),
        (mount, arena) -> {
          int code = LibCephFs.ceph_mkdirs(mount, arena.cString(path), mode);
          return code == -Errno.EEXIST.number() ? 0 : code;
        });
  }

  /**
   * Removes an empty directory ({@code ceph_rmdir}); in {@code .snap} of another one it removes a
   * snapshot. That must exist: after a failure, libcephfs 16 never ends {@link #close()}.
   */
  public void removeDirectory(String path) {
    call("ceph_rmdir", describe(path), (m, arena) -> LibCephFs.ceph_rmdir(m, arena.cString(path)));
  }

  /** Removes a file ({@code ceph_unlink}). */
  public void removeFile(String path) {
    call(
        "ceph_unlink", describe(path), (m, arena) -> LibCephFs.ceph_unlink(m, arena.cString(path)));
  }

  /** Moves a file or directory ({@code ceph_rename}). */
  public void rename(String from, String to) {
    call(
        "ceph_rename",
        describe(from),
        (m, arena) -> LibCephFs.ceph_rename(m, arena.cString(from), arena.cString(to)));
  }

  /**
   * An extended attribute ({@code ceph_getxattr}), such as {@code ceph.dir.rbytes}.
   *
   * @return empty if the file has no such attribute
   * @throws CephException.NotFound if there is no such file
   */
  public Optional<byte[]> attribute(String path, String name) {
    try {
      return Optional.of(use((mount, arena) -> attribute(mount, arena, path, name)));
    } catch (CephException e) {
      if (e.errno() == Errno.ENODATA) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private byte[] attribute(long mount, NativeArena arena, String path, String name) {
    long file = arena.cString(path);
    long key = arena.cString(name);
    return GrowingBuffer.readValue(
        VALUE_BYTES,
        "ceph_getxattr",
        describe(path) + " " + name,
        (buffer, capacity, cell) -> LibCephFs.ceph_getxattr(mount, file, key, buffer, capacity),
        (buffer, length, count) -> NativeMemory.bytes(buffer, length));
  }

  /** As {@link #attribute}, as text. */
  public Optional<String> attributeText(String path, String name) {
    return attribute(path, name).map(value -> new String(value, StandardCharsets.UTF_8));
  }

  /** Sets an extended attribute ({@code ceph_setxattr}). */
  public void setAttribute(String path, String name, byte[] value) {
    call(
        "ceph_setxattr",
        describe(path),
        (m, arena) ->
            LibCephFs.ceph_setxattr(
                m, arena.cString(path), arena.cString(name), arena.bytes(value), value.length, 0));
  }

  /** Removes an extended attribute ({@code ceph_removexattr}). */
  public void removeAttribute(String path, String name) {
    call(
        "ceph_removexattr",
        describe(path),
        (m, arena) -> LibCephFs.ceph_removexattr(m, arena.cString(path), arena.cString(name)));
  }

  /**
   * Quota and usage of a directory ({@code ceph_getxattr} of {@code ceph.quota.*} and {@code
   * ceph.dir.*}).
   */
  public DirectoryUsage usage(String path) {
    return DirectoryUsage.read(this, path);
  }

  /**
   * Sets the quota of a directory ({@code ceph.quota.max_bytes}).
   *
   * @param bytes how many bytes of files may be below it; 0 for no quota
   */
  public void setQuotaBytes(String path, long bytes) {
    setAttribute(
        path, DirectoryUsage.QUOTA_BYTES, Long.toString(bytes).getBytes(StandardCharsets.US_ASCII));
  }

  /** The snapshots of a directory. */
  public DirectorySnapshots snapshots(String directory) {
    return new DirectorySnapshots(this, directory);
  }

  /**
   * Opens a file for reading ({@code ceph_open}).
   *
   * @throws CephException.NotFound if there is none
   */
  public CephFsFile openFile(String path) {
    return CephFsFile.open(this, path, CephFsFile.READ_ONLY, 0);
  }

  /**
   * Opens a file for reading and writing, and makes it if it is not there ({@code ceph_open}).
   *
   * @param mode permissions of a new file, such as 0644
   */
  public CephFsFile createFile(String path, int mode) {
    return CephFsFile.open(this, path, CephFsFile.READ_WRITE | CephFsFile.CREATE, mode);
  }

  /**
   * Waits until all that was written through this mount is on the cluster ({@code ceph_sync_fs}).
   */
  public void sync() {
    call("ceph_sync_fs", describe("/"), (mount, arena) -> LibCephFs.ceph_sync_fs(mount));
  }
}
