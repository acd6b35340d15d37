package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/**
 * A device that is held open: until it is closed, the kernel gives its number to no other image,
 * whoever takes the device away. Not safe for several threads.
 */
public final class HeldDevice implements AutoCloseable {
  private final FileChannel channel;

  private HeldDevice(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Opens a device that was attached.
   *
   * @throws VolumeException UNAVAILABLE when it has been taken away meanwhile
   */
  public static HeldDevice of(AttachedDevice device, Attacher attacher) {
    HeldDevice held;
    try {
      held = new HeldDevice(FileChannel.open(device.device(), StandardOpenOption.READ));
    } catch (IOException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " cannot be opened: " + e.getMessage(), e);
    }
    if (attacher.at(device.device()).filter(now -> now.image().equals(device.image())).isEmpty()) {
      held.close();
      throw new VolumeException(
          Reason.UNAVAILABLE, device.device() + " is not " + device.image() + " any more");
    }
    return held;
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
