package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import io.cephcsi.driver.volume.Extent;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/**
 * An image that only {@code ceph-csi bench} knows, with a file system when one is wanted, and data
 * where that uses nothing. Used by one thread; closing removes the image.
 */
final class ScratchImage implements AutoCloseable {
  static final int OBJECT_BYTES = 4 << 20;

  private static final Set<ImageFeature> FEATURES =
      EnumSet.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF);
  private static final int COPIED_AT_ONCE = 64 << 10;
  private static final int IN_FLIGHT = 64;

  private final RbdPool pool;
  private final String name;
  private final List<Long> free;

  private ScratchImage(RbdPool pool, String name, List<Long> free) {
    this.pool = pool;
    this.name = name;
    this.free = free;
  }

  /**
   * Makes an image.
   *
   * @param size in bytes, a multiple of 4 MiB
   * @param fileSystem whether it holds an ext4, made by mkfs.ext4, which must be installed
   * @param stop whether to end early, with a part of the file system; asked often
   * @throws io.cephcsi.bindings.error.CephException.Exists if there is an image of the name
   */
  static ScratchImage make(
      IoContext io, String name, long size, boolean fileSystem, BooleanSupplier stop)
      throws IOException {
    RbdPool pool = new RbdPool(io);
    pool.create(
        name,
        size,
        ImageOptions.builder().features(FEATURES).objectSizeBytes(OBJECT_BYTES).build());
    try {
      List<Long> free = fileSystem ? withFileSystem(pool, name, size, stop) : objects(0, size);
      Collections.shuffle(free, new Random(1)); // the same places in every run
      return new ScratchImage(pool, name, free);
    } catch (IOException | RuntimeException e) {
      pool.remove(name, Progress.NONE);
      throw e;
    }
  }

  private static List<Long> objects(long from, long end) {
    List<Long> all = new ArrayList<>();
    for (long at = (from + OBJECT_BYTES - 1) / OBJECT_BYTES * OBJECT_BYTES;
        at + OBJECT_BYTES <= end;
        at += OBJECT_BYTES) {
      all.add(at);
    }
    return all;
  }

  /** Makes the file system in a sparse file, copies what is not zero, and gives what is free. */
  private static List<Long> withFileSystem(
      RbdPool pool, String name, long size, BooleanSupplier stop) throws IOException {
    Path file = Files.createTempFile("ceph-csi-bench", ".ext4");
    try (FileChannel content =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        RbdImage image = pool.open(name)) {
      content.write(ByteBuffer.allocate(1), size - 1);
      Command.of("mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=1")
          .with(Argument.path(file.toAbsolutePath()))
          .run();
      Inspection inspection = FileSystems.inspect(new FileReader(content, size));
      if (!(inspection instanceof Inspection.Clean clean)) {
        throw new IOException(
            "the file system that mkfs.ext4 made cannot be trimmed: " + inspection);
      }
      copy(content, used(clean, size), image, stop);
      List<Long> free = new ArrayList<>();
      clean.freeRanges(range -> free.addAll(objects(range.offset(), range.end())));
      return free;
    } finally {
      Files.delete(file);
    }
  }

  /** What the file system uses: the other parts of the file are holes, and may be terabytes. */
  private static List<Extent> used(Inspection.Clean clean, long size) {
    List<Extent> used = new ArrayList<>();
    long[] at = {0};
    clean.freeRanges(
        range -> {
          if (range.offset() > at[0]) {
            used.add(new Extent(at[0], range.offset() - at[0]));
          }
          at[0] = range.end();
        });
    if (at[0] < size) {
      used.add(new Extent(at[0], size - at[0]));
    }
    return used;
  }

  private static void copy(
      FileChannel from, List<Extent> used, RbdImage image, BooleanSupplier stop)
      throws IOException {
    byte[] zeroes = new byte[COPIED_AT_ONCE];
    for (Extent extent : used) {
      for (long at = extent.offset(); at < extent.end(); at += COPIED_AT_ONCE) {
        if (stop.getAsBoolean()) {
          return;
        }
        byte[] part = new byte[(int) Math.min(COPIED_AT_ONCE, extent.end() - at)];
        read(from, at, ByteBuffer.wrap(part));
        if (!Arrays.equals(part, 0, part.length, zeroes, 0, part.length)) {
          image.write(at, part);
        }
      }
    }
    image.flush();
  }

  private static void read(FileChannel from, long offset, ByteBuffer into) throws IOException {
    long at = offset;
    while (into.hasRemaining()) {
      int got = from.read(into, at);
      if (got < 0) {
        throw new EOFException();
      }
      at += got;
    }
  }

  /** How many objects {@link #fill} can fill. */
  int freeObjects() {
    return free.size();
  }

  /**
   * Writes data at the beginning of objects that nothing uses.
   *
   * @param written told how many objects are written by now
   * @param stop whether to end early; asked before each object
   */
  void fill(int objects, byte[] data, IntConsumer written, BooleanSupplier stop) {
    Deque<RbdCompletion> running = new ArrayDeque<>();
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < objects && !stop.getAsBoolean(); i++) {
        if (running.size() == IN_FLIGHT) {
          finish(running);
        }
        running.add(image.writeAsync(free.get(i), data));
        written.accept(i);
      }
      while (!running.isEmpty()) {
        finish(running);
      }
      image.flush();
    }
  }

  private static void finish(Deque<RbdCompletion> running) {
    try (RbdCompletion oldest = running.remove()) {
      oldest.await();
    }
  }

  @Override
  public void close() {
    pool.remove(name, Progress.NONE);
  }

  private record FileReader(FileChannel file, long size) implements BlockReader {
    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      ScratchImage.read(file, offset, into);
    }
  }
}
