package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/**
 * A device that is open: until it is closed, the kernel gives its number to no other image, whoever
 * takes the device away. Not safe for several threads.
 */
public final class OpenDevice implements AutoCloseable {
  private final FileChannel channel;

  private OpenDevice(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Opens a device that was attached.
   *
   * @throws VolumeException UNAVAILABLE when it has been taken away meanwhile
   */
  public static OpenDevice of(AttachedDevice device, Attacher attacher) {
    OpenDevice opened;
    try {
      opened = new OpenDevice(FileChannel.open(device.device(), StandardOpenOption.READ));
    } catch (IOException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " cannot be opened: " + e.getMessage(), e);
    }
    if (attacher.at(device.device()).filter(now -> now.image().equals(device.image())).isEmpty()) {
      opened.close();
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " is not " + device.image() + " any more");
    }
    return opened;
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
