package io.cephcsi.bindings.cephfs;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibCephFs;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.List;

/**
 * An open directory, read from its begin to its end ({@code struct ceph_dir_result *}). One thread
 * at a time reads it: the position belongs to the directory.
 */
public final class CephFsDirectory extends NativeHandle {
  private static final int LONGEST_NAME = 256; // NAME_MAX and its zero byte
  private static final int MOST_BYTES = 1 << 20;
  private static final int DOTS = 2; // the position after both

  private final CephFsMount mount;
  private final String path;

  /** Called inside a call of the mount. */
  CephFsDirectory(CephFsMount mount, String path, long pointer) {
    super("directory " + path, mount, pointer, true);
    this.mount = mount;
    this.path = path;
  }

  @Override
  protected void destroy(long pointer) {
    LibCephFs.ceph_closedir(parentPointer(), pointer);
  }

  /**
   * Skips . and .., the first two entries of every directory ({@code ceph_seekdir}); to be called
   * before anything is read. Of a directory whose capabilities no client gets, such as {@code
   * .snap}, libcephfs would ask the MDS for the attributes of both.
   */
  public void skipDots() {
    mount.use(
        (pointer, none) ->
            use(
                (directory, arena) -> {
                  LibCephFs.ceph_seekdir(pointer, directory, DOTS);
                  return this;
                }));
  }

  /**
   * The next names, . and .. among them ({@code ceph_getdnames}).
   *
   * @param bytes how much memory to offer for them; it is raised to what the longest name needs
   * @return empty at the end
   */
  public List<String> nextNames(int bytes) {
    int offered = Math.min(Math.max(bytes, LONGEST_NAME), MOST_BYTES);
    return mount.use((pointer, none) -> read(pointer, offered));
  }

  private List<String> read(long mountPointer, int bytes) {
    return use(
        (directory, arena) -> {
          long buffer = arena.allocate(bytes);
          int code = LibCephFs.ceph_getdnames(mountPointer, directory, buffer, bytes);
          return NativeMemory.cStrings(buffer, check(code, "ceph_getdnames", path));
        });
  }
}
