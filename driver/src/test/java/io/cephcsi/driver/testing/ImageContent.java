package io.cephcsi.driver.testing;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.CRC32C;

/** Writes and reads whole images through the command line, the independent client. */
public final class ImageContent {
  private final TestCluster cluster;

  /** Content of images of a cluster. */
  public ImageContent(TestCluster cluster) {
    this.cluster = cluster;
  }

  /** Fills the beginning of an image with bytes that a seed determines. */
  public void write(String image, long seed) {
    byte[] bytes = new byte[2 << 20];
    new Random(seed).nextBytes(bytes);
    try (var connection = cluster.connect();
        var io = connection.openPool(image.substring(0, image.indexOf('/')));
        var open = new RbdPool(io).open(image.substring(image.indexOf('/') + 1))) {
      open.write(0, bytes);
      open.write(9 << 20, bytes);
      open.flush();
    }
  }

  /** A checksum over the content of an image. */
  public int checksum(String image) {
    try {
      Path folder = Files.createTempDirectory("content");
      Path file = folder.resolve("image");
      cluster.rbd("export", image, file.toString(), "--no-progress");
      byte[] bytes = Files.readAllBytes(file);
      Files.delete(file);
      Files.delete(folder);
      CRC32C sum = new CRC32C();
      sum.update(bytes);
      return (int) sum.getValue();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
