package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.reclaim.luks.LuksRefusal;
import io.cephcsi.driver.reclaim.luks.LuksRegion;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The header of the device of a volume, as it was read and found to be what drivers make. It is in
 * a file that cryptsetup gets in the place of the header on the device, which anybody may change
 * meanwhile who may write the image. Gone when this is closed.
 */
final class HeaderCopy implements AutoCloseable {
  private static final int NO_HEADER = 1; // that cryptsetup takes
  private static final int NO_SUCH_PASSPHRASE = 2;

  private final LuksRegion region;
  private final SecretFile file;
  private final KeyMemory memory;

  private HeaderCopy(LuksRegion region, SecretFile file, KeyMemory memory) {
    this.region = region;
    this.file = file;
    this.memory = memory;
  }

  /**
   * Of a volume that has LUKS.
   *
   * @param secrets where the file is made, see {@link SecretFile}
   * @param memory of what makes keys by it
   * @throws VolumeException FAILED_PRECONDITION when its header is not what drivers make, or none
   *     is whole
   */
  static HeaderCopy of(String volumeId, Path device, Path secrets, KeyMemory memory) {
    try {
      return read(volumeId, device, secrets, memory);
    } catch (LuksRefusal e) {
      throw refused(volumeId, e);
    }
  }

  /**
   * As {@link #of}, where a format may have been cut off.
   *
   * @return empty when no header is whole, or no slot has a passphrase yet
   */
  static Optional<HeaderCopy> find(String volumeId, Path device, Path secrets, KeyMemory memory) {
    try {
      return Optional.of(read(volumeId, device, secrets, memory));
    } catch (LuksRefusal e) {
      if (e.reason() == RefusalReason.UNSUPPORTED_FEATURE) {
        throw refused(volumeId, e);
      }
      return Optional.empty();
    }
  }

  private static HeaderCopy read(String volumeId, Path device, Path secrets, KeyMemory memory)
      throws LuksRefusal {
    // Several may be there at once.
    String name = "header of " + volumeId + " " + UUID.randomUUID();
    try (ImageDevice opened = ImageDevice.open(device)) {
      LuksRegion region = LuksRegion.read(opened);
      SlotReader slots = new SlotReader(device, opened);
      SecretFile file = SecretFile.of(secrets, name, copy -> region.writeTo(slots, copy));
      return new HeaderCopy(region, file, memory);
    } catch (IOException e) {
      throw unreadable(device, e);
    }
  }

  /** Tells what goes wrong with the device from what goes wrong with the file. */
  private record SlotReader(Path device, ImageDevice opened) implements BlockReader {
    @Override
    public long size() {
      return opened.size();
    }

    @Override
    public void read(long offset, ByteBuffer into) {
      try {
        opened.read(offset, into);
      } catch (IOException e) {
        throw unreadable(device, e);
      }
    }
  }

  private static VolumeException unreadable(Path device, IOException why) {
    return new VolumeException(
        Reason.UNAVAILABLE, device + " cannot be read: " + why.getMessage(), why);
  }

  private static VolumeException refused(String volumeId, LuksRefusal why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + volumeId
            + ": its image cannot be decrypted: "
            + why.detail()
            + "; nothing was changed");
  }

  /** What cryptsetup gets. */
  Argument path() {
    return Argument.path(file.path());
  }

  /** Whether both copies on the device were whole, and said the same. */
  boolean isSame() {
    return region.isSame();
  }

  /** Whether a slot has a passphrase. */
  boolean hasSlot(int slot) {
    return region.hasSlot(slot);
  }

  /**
   * Runs what makes keys of passphrases by it, when there is memory for that.
   *
   * @throws VolumeException UNAVAILABLE when others take the memory for long
   */
  <T> T inMemory(Supplier<T> work) {
    return memory.during(region.memoryKib(), work);
  }

  /** Whether it is of the same volume key as another one. */
  boolean hasKeyOf(HeaderCopy other) {
    return region.hasKeyOf(other.region);
  }

  /** Whether a passphrase is that of a slot. */
  boolean isOpenedBy(Passphrase passphrase) {
    return isOpened(test(), passphrase);
  }

  /** Whether a passphrase is that of this slot. */
  boolean isOpenedBy(Passphrase passphrase, int slot) {
    return hasSlot(slot)
        && isOpened(test().with("--key-slot").with(Cryptsetup.slot(slot)), passphrase);
  }

  /** Which of the slots that drivers use a passphrase has; empty for none. */
  Optional<Integer> slotOf(Passphrase passphrase) {
    return Stream.of(0, 1).filter(slot -> isOpenedBy(passphrase, slot)).findFirst();
  }

  private static Command test() {
    return Command.of("cryptsetup", "open", "--test-passphrase", "--type", "luks2", "--key-file=-");
  }

  private boolean isOpened(Command command, Passphrase passphrase) {
    Command open = Cryptsetup.run(command.with(path()), passphrase);
    return inMemory(() -> open.exitsWith(0, NO_HEADER, NO_SUCH_PASSPHRASE)).exitCode() == 0;
  }

  @Override
  public void close() {
    file.close();
  }
}
