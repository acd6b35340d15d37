package io.cephcsi.driver.reclaim.luks;

import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.FreeRange;
import io.cephcsi.driver.reclaim.fs.RangeVisitor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The decrypted content of a device with LUKS2, as dm-crypt would show it. Nothing is written.
 * Blocks as the device does. Not safe for several threads.
 */
public final class LuksVolume implements BlockReader {
  /** What a range to discard must begin and end at: larger than any sector of LUKS. */
  private static final int ALIGNMENT = 4096;

  private final BlockReader device;
  private final LuksLayout layout;
  private final AesXts cipher;
  private final long size;

  private LuksVolume(BlockReader device, LuksLayout layout, AesXts cipher) {
    this.device = device;
    this.layout = layout;
    this.cipher = cipher;
    long bytes = layout.dataBytes().orElse(device.size() - layout.dataOffset());
    this.size = bytes / layout.sectorBytes() * layout.sectorBytes();
  }

  /**
   * Opens a device.
   *
   * @param passphrase which the caller wipes
   * @return empty when the passphrase does not open it
   * @throws LuksRefusal when the header is not certain in all respects
   */
  public static Optional<LuksVolume> open(BlockReader device, byte[] passphrase)
      throws IOException, LuksRefusal {
    try (LuksUnlock unlock = new LuksUnlock(Passphrase.of(passphrase))) {
      return unlock.open(device, () -> false);
    }
  }

  /**
   * @param key of the data, which is copied
   */
  static LuksVolume of(BlockReader device, LuksLayout layout, byte[] key) {
    return new LuksVolume(device, layout, new AesXts(key, layout.sectorBytes()));
  }

  @Override
  public long size() {
    return size;
  }

  /** Where the content starts on the device, in bytes. */
  public long dataOffset() {
    return layout.dataOffset();
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    readAll(List.of(new Request(offset, into)));
  }

  @Override
  public void readAll(List<Request> reads) throws IOException {
    int sector = layout.sectorBytes();
    List<Request> encrypted = new ArrayList<>();
    for (Request read : reads) {
      long from = read.offset() / sector * sector;
      long end = (read.offset() + read.into().remaining() + sector - 1) / sector * sector;
      encrypted.add(
          new Request(
              layout.dataOffset() + from, ByteBuffer.allocate(Math.toIntExact(end - from))));
    }
    device.readAll(encrypted);
    for (int i = 0; i < reads.size(); i++) {
      Request read = reads.get(i);
      byte[] bytes = encrypted.get(i).into().array();
      long from = encrypted.get(i).offset() - layout.dataOffset();
      cipher.decrypt(bytes, layout.firstNumber() + from / AesXts.UNIT);
      read.into().put(bytes, (int) (read.offset() - from), read.into().remaining());
    }
  }

  /**
   * Tells a free range of the content as one of the device: whole sectors only, as one that is
   * partly in use would be lost as a whole.
   */
  public RangeVisitor onDevice(RangeVisitor visitor) {
    return range -> {
      long from = (range.offset() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      long end = range.end() / ALIGNMENT * ALIGNMENT;
      if (end > from) {
        visitor.visit(new FreeRange(layout.dataOffset() + from, end - from));
      }
    };
  }
}
