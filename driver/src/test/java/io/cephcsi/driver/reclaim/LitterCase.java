package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import io.cephcsi.driver.testing.FileSystemImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** What the tests share in which somebody comes while an image is trimmed for a while. */
abstract class LitterCase extends ReclaimCase {
  static final long SIZE = 1024L * MIB;

  static RadosCluster otherCluster;
  static IoContext otherIo;
  static RbdPool otherPool;

  @TempDir Path folder;

  @BeforeAll
  static void connectNewcomer() {
    otherCluster = RadosCluster.connect(ceph.settings().option("rbd_cache", "false").build());
    otherIo = otherCluster.openPool(ceph.pool());
    otherPool = new RbdPool(otherIo);
  }

  @AfterAll
  static void disconnectNewcomer() {
    otherIo.close();
    otherCluster.close();
  }

  FileSystemImage files() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", SIZE);
    files.mounted("for i in $(seq 60); do head -c 700000 /dev/urandom > f$i; done");
    pool.create(name, SIZE, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    return files;
  }

  /** Free ranges that are whole objects, with something in each, as deleted files leave it. */
  List<Long> litter() {
    List<Long> objects = new ArrayList<>();
    try (RbdImage image = open()) {
      List<RbdCompletion> running = new ArrayList<>();
      Inspection.Clean clean = inspect(image);
      clean.freeRanges(
          range -> {
            for (long at = (range.offset() + MIB - 1) / MIB * MIB;
                at + MIB <= range.end();
                at += MIB) {
              objects.add(at);
              running.add(image.writeAsync(at, filled(512, 0x55)));
              if (running.size() == 32) {
                finish(running);
              }
            }
          });
      finish(running);
      image.flush();
    }
    return objects;
  }

  private static Inspection.Clean inspect(RbdImage image) {
    try {
      return (Inspection.Clean) FileSystems.inspect(new ImageReader(image, () -> false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void finish(List<RbdCompletion> running) {
    running.forEach(RbdCompletion::await);
    running.forEach(RbdCompletion::close);
    running.clear();
  }
}
