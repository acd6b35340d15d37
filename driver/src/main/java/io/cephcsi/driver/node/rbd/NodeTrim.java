package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.DeviceContent;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the device of a mounted file system which blocks are free, slice by slice, so that it can
 * be stopped, shows how far it is, and keeps to a rate. Safe for several threads.
 */
final class NodeTrim {
  private static final Logger LOG = LoggerFactory.getLogger(NodeTrim.class);
  private static final long SLICE = 1L << 30;
  private static final long SLOW_SLICE = 128L << 20;
  private static final long SMALLEST_GROUP = 16L << 20; // XFS_AG_MIN_BYTES
  private static final long BEHIND_THE_END = -1;
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final long bytesPerSecond;

  /**
   * @param bytesPerSecond how many free bytes are discarded in a second at most; 0 for no limit
   */
  NodeTrim(long bytesPerSecond) {
    this.bytesPerSecond = bytesPerSecond;
  }

  /**
   * Trims a file system; blocks until it is done or should stop.
   *
   * @param mount where it is mounted
   * @param device the block device that it is on
   * @param stop asked between any two slices
   * @return what was done
   * @throws VolumeException UNIMPLEMENTED when file system or device cannot; ABORTED when it is
   *     unmounted meanwhile
   */
  Outcome run(Mount mount, BlockDevice device, Operation operation, BooleanSupplier stop) {
    if (!device.discards()) {
      throw cannot(
          mount,
          LuksDevices.below(device.path()).isPresent()
              ? "it is encrypted, and its StorageClass lets no discards pass ("
                  + EncryptionRequest.ALLOW_DISCARDS
                  + ")"
              : "its device cannot discard");
    }
    // Not what is below, when it is unmounted between two slices.
    MountedFileSystem fileSystem = new MountedFileSystem(mount.target(), mount.device());
    try {
      return run(fileSystem, mount, device, operation, stop);
    } catch (CephException e) {
      if (e.errno() == Errno.ESTALE || e.errno() == Errno.ENOENT) {
        throw new VolumeException(
            Reason.ABORTED, "the volume at " + mount.target() + " was unmounted meanwhile", e);
      }
      throw e;
    }
  }

  private Outcome run(
      MountedFileSystem fileSystem,
      Mount mount,
      BlockDevice device,
      Operation operation,
      BooleanSupplier stop) {
    operation.phase("write what is pending");
    settle(fileSystem, mount);
    operation.phase("trim");
    long size = device.size();
    long slice = sliceOf(mount, device.path(), size);
    long discarded = 0;
    long began = System.nanoTime();
    long at = 0;
    for (; at < size && !stop.getAsBoolean(); at += slice) {
      long trimmed = trim(fileSystem, mount, at, Math.min(slice, size - at));
      if (trimmed == BEHIND_THE_END) {
        return new Outcome(discarded, true);
      }
      discarded += trimmed;
      if (mount.fsType().equals(DiskFileSystems.XFS)) {
        device.awaitDiscards(stop);
      }
      operation.progress(Math.min(size, at + slice), size);
      pause(began, discarded, stop);
    }
    return new Outcome(discarded, at >= size);
  }

  /**
   * What a trim did.
   *
   * @param discarded bytes
   * @param complete whether it came to the end of the device before it was to stop
   */
  record Outcome(long discarded, boolean complete) {}

  /** What was deleted just now becomes free when it is committed, and on XFS even later. */
  private static void settle(MountedFileSystem fileSystem, Mount mount) {
    fileSystem.sync();
    if (mount.fsType().equals(DiskFileSystems.XFS)) {
      try {
        fileSystem.freeEofBlocks();
      } catch (CephException e) {
        LOG.info(
            "{}: XFS frees the blocks of deleted files later: {}", mount.target(), e.getMessage());
      }
      fileSystem.sync();
    }
  }

  /**
   * XFS walks all free extents of every group that a range touches, and may discard an extent whole
   * that the range touches in part: a slice is one group. Its size comes from the image, which
   * others may have written to since it was mounted.
   */
  long sliceOf(Mount mount, Path device, long deviceBytes) {
    if (mount.fsType().equals(DiskFileSystems.XFS)) {
      long group = DeviceContent.xfsGroupBytes(device);
      if (group < SMALLEST_GROUP || group > deviceBytes) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "the XFS at "
                + mount.target()
                + " says that its allocation groups have "
                + group
                + " bytes: its superblock is damaged");
      }
      return group;
    }
    return bytesPerSecond > 0 ? SLOW_SLICE : SLICE;
  }

  /** How many bytes were discarded, or BEHIND_THE_END. */
  private static long trim(MountedFileSystem fileSystem, Mount mount, long start, long length) {
    try {
      return fileSystem.trim(start, length, 0);
    } catch (CephException e) {
      // A range that begins there, or is less than a block; no file system ends at 0.
      if (e.errno() == Errno.EINVAL && start > 0) {
        return BEHIND_THE_END;
      }
      if (e.errno() == Errno.EOPNOTSUPP || e.errno() == Errno.ENOTTY || e.errno() == Errno.EINVAL) {
        throw cannot(mount, e.operation() + " " + e.errno());
      }
      throw e;
    }
  }

  private static VolumeException cannot(Mount mount, String why) {
    return new VolumeException(
        Reason.UNIMPLEMENTED, "the volume at " + mount.target() + " cannot be trimmed: " + why);
  }

  private void pause(long began, long discarded, BooleanSupplier stop) {
    if (bytesPerSecond == 0) {
      return;
    }
    long due = began + (long) (1e9 * discarded / bytesPerSecond);
    for (long left = due - System.nanoTime();
        left > 0 && !stop.getAsBoolean();
        left = due - System.nanoTime()) {
      LockSupport.parkNanos(Math.min(left, PAUSE_NANOS));
    }
  }
}
