package io.cephcsi.driver.testing;

import io.cephcsi.bindings.rbd.RbdImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** Copies files into images and back. */
public final class FileCopy {
  private static final int CHUNK = 1 << 20;

  private FileCopy() {}

  /** Copies what is not zero into an image. */
  public static void toImage(Path file, RbdImage image) {
    try (FileChannel channel = FileChannel.open(file)) {
      byte[] zeroes = new byte[CHUNK];
      for (long at = 0; at < channel.size(); at += CHUNK) {
        byte[] data = new byte[(int) Math.min(CHUNK, channel.size() - at)];
        channel.read(ByteBuffer.wrap(data), at);
        if (!Arrays.equals(data, 0, data.length, zeroes, 0, data.length)) {
          image.write(at, data);
        }
      }
      image.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replaces a file by what an image holds. */
  public static void fromImage(RbdImage image, Path file) {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
      byte[] zeroes = new byte[CHUNK];
      for (long at = 0; at < image.size(); at += CHUNK) {
        byte[] data = image.read(at, (int) Math.min(CHUNK, image.size() - at));
        if (!Arrays.equals(data, 0, data.length, zeroes, 0, data.length)
            || at + data.length == image.size()) {
          channel.write(ByteBuffer.wrap(data), at);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
