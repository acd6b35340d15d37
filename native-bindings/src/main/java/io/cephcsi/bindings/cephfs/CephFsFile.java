package io.cephcsi.bindings.cephfs;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibCephFs;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;

/**
 * An open file ({@code int fd} of libcephfs). Offsets and lengths are in bytes. Safe for several
 * threads; every call blocks until the MDS or the OSDs answer.
 */
public final class CephFsFile extends NativeHandle {
  static final int READ_ONLY = 0;
  static final int READ_WRITE = 2;
  static final int CREATE = 0100;

  // A handle's pointer is never 0, a file descriptor may be.
  private static final long DESCRIPTOR_BASE = 1;

  private final CephFsMount mount;
  private final String path;

  private CephFsFile(CephFsMount mount, String path, long pointer) {
    super("file " + path, mount, pointer, true);
    this.mount = mount;
    this.path = path;
  }

  static CephFsFile open(CephFsMount mount, String path, int flags, int mode) {
    return mount.use(
        (pointer, arena) -> {
          int descriptor =
              check(
                  LibCephFs.ceph_open(pointer, arena.cString(path), flags, mode),
                  "ceph_open",
                  mount.describe(path));
          return new CephFsFile(mount, mount.describe(path), descriptor + DESCRIPTOR_BASE);
        });
  }

  @Override
  protected void destroy(long pointer) {
    LibCephFs.ceph_close(parentPointer(), descriptor(pointer));
  }

  private static int descriptor(long pointer) {
    return Math.toIntExact(pointer - DESCRIPTOR_BASE);
  }

  /**
   * Reads ({@code ceph_read}).
   *
   * @param offset in bytes
   * @param length how many bytes at most
   * @return what is there; shorter at the end of the file
   */
  public byte[] read(long offset, int length) {
    return call(
        (pointer, file, arena) -> {
          long buffer = arena.allocate(length);
          int got =
              check(LibCephFs.ceph_read(pointer, file, buffer, length, offset), "ceph_read", path);
          return arena.getBytes(buffer, got);
        });
  }

  /** Writes all bytes at an offset ({@code ceph_write}); {@link #flush()} brings them down. */
  public void write(long offset, byte[] bytes) {
    int written = 0;
    while (written < bytes.length) {
      written += write(offset + written, bytes, written);
    }
  }

  private int write(long offset, byte[] bytes, int from) {
    return call(
        (pointer, file, arena) -> {
          long buffer = arena.bytes(bytes) + from;
          return check(
              LibCephFs.ceph_write(pointer, file, buffer, bytes.length - from, offset),
              "ceph_write",
              path);
        });
  }

  /** Waits until what was written is on the cluster ({@code ceph_fsync}). */
  public void flush() {
    call(
        (pointer, file, arena) ->
            check(LibCephFs.ceph_fsync(pointer, file, 0), "ceph_fsync", path));
  }

  private <T> T call(Call<T> call) {
    return mount.use(
        (pointer, none) -> use((file, arena) -> call.on(pointer, descriptor(file), arena)));
  }

  /** One call of libcephfs on an open file. */
  private interface Call<T> {
    T on(long mount, int descriptor, NativeArena arena);
  }
}
