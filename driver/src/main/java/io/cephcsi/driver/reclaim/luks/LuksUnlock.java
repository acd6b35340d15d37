package io.cephcsi.driver.reclaim.luks;

import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Opens a device by a passphrase, and keeps what it found: to make the key of the passphrase takes
 * seconds, or as long as the header asks for. A device that is opened again is known by its header,
 * which has all that the key depends on. Used by one thread.
 */
public final class LuksUnlock implements AutoCloseable {
  private final Passphrase passphrase;
  private byte[] header = {};
  private Optional<byte[]> key = Optional.empty();

  /**
   * @param passphrase closed with this
   */
  public LuksUnlock(Passphrase passphrase) {
    this.passphrase = passphrase;
  }

  /**
   * Opens a device.
   *
   * @param stop whether to end early; asked before each slot and while others make keys, must not
   *     block
   * @return empty when the passphrase does not open it
   * @throws LuksRefusal when the header is not certain in all respects
   * @throws InspectionStopped if it is to end early
   */
  public Optional<LuksVolume> open(BlockReader device, BooleanSupplier stop)
      throws IOException, LuksRefusal {
    LuksHeader now = LuksHeader.read(device);
    LuksLayout layout = LuksLayout.of(now, device.size(), LuksLimits.OFFLINE);
    if (!Arrays.equals(header, now.first())) {
      forget();
      byte[] bytes = passphrase.bytes();
      try {
        key = LuksKey.find(device, layout, bytes, stop);
      } finally {
        Arrays.fill(bytes, (byte) 0);
      }
      header = now.first();
    }
    return key.map(found -> LuksVolume.of(device, layout, found));
  }

  private void forget() {
    header = new byte[0];
    key.ifPresent(found -> Arrays.fill(found, (byte) 0));
    key = Optional.empty();
  }

  /** Wipes the key and the passphrase. */
  @Override
  public void close() {
    forget();
    passphrase.close();
  }
}
