package io.cephcsi.driver.reclaim.luks;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The header of a device, read once, and found to be what drivers make: one segment with a cipher
 * that is one, slots of passphrases only, of bounded costs, and nothing else that cryptsetup would
 * use. Whoever may write the image can replace its header. One with a token, or with a cipher that
 * does nothing, is opened by cryptsetup with the volume key of its author, whatever the passphrase
 * is. Used by one thread.
 */
public final class LuksRegion {
  private static final Set<String> PARTS =
      Set.of("keyslots", "tokens", "segments", "digests", "config");

  /** Those that change nothing but the speed. */
  private static final Set<String> FLAGS =
      Set.of("same-cpu-crypt", "submit-from-crypt-cpus", "no-read-workqueue", "no-write-workqueue");

  /** As many as cryptsetup makes (LUKS2_KEYSLOTS_MAX). */
  private static final int MOST_SLOTS = 32;

  private final LuksLayout layout;
  private final boolean same;
  private @Nullable LuksHeader header; // until it is written

  private LuksRegion(LuksHeader header, LuksLayout layout) {
    this.layout = layout;
    this.same = header.same();
    this.header = header.withoutJson();
  }

  /**
   * Reads the header, of which at most 128 KiB are in memory until it is written.
   *
   * @throws LuksRefusal UNSUPPORTED_FEATURE when it is not what drivers make; another reason when
   *     there is no header that is whole, or it has no slot yet, so that nothing can open it
   */
  public static LuksRegion read(BlockReader device) throws IOException, LuksRefusal {
    LuksHeader header = LuksHeader.newest(device);
    requireKnown(header.json());
    if (header.json().path("keyslots").size() > MOST_SLOTS) {
      throw LuksRefusal.unsupported("LUKS has more than " + MOST_SLOTS + " slots");
    }
    LuksRefusal.require(
        !LuksLayout.isNone(header.json().path("keyslots")),
        "LUKS has no slot: its format was cut off");
    try {
      return new LuksRegion(header, LuksLayout.of(header, device.size(), LuksLimits.NODE));
    } catch (LuksRefusal e) {
      throw LuksRefusal.unsupported(e.detail());
    }
  }

  private static void requireKnown(JsonNode json) throws LuksRefusal {
    for (var names = json.fieldNames(); names.hasNext(); ) {
      if (!PARTS.contains(names.next())) {
        throw LuksRefusal.unsupported("the header of LUKS has a part that is not known here");
      }
    }
    if (!LuksLayout.isNone(json.path("tokens"))) {
      throw LuksRefusal.unsupported(
          "the header of LUKS has a token, which may open it by another passphrase; no driver"
              + " makes one");
    }
    JsonNode flags = json.path("config").path("flags");
    boolean known = flags.isMissingNode() || flags.isArray();
    for (JsonNode flag : flags) {
      known &= FLAGS.contains(flag.asText());
    }
    if (!known) {
      throw LuksRefusal.unsupported("the header of LUKS has a flag that no driver sets");
    }
  }

  /** Whether both copies of the header were on the device, and said the same. */
  public boolean isSame() {
    return same;
  }

  /** Whether a slot has a passphrase. */
  public boolean hasSlot(int slot) {
    return layout.slots().stream().anyMatch(each -> each.number().equals(Integer.toString(slot)));
  }

  /** The most memory that it takes to make the key of a slot of a passphrase, in KiB. */
  public int memoryKib() {
    return layout.slots().stream()
        .map(LuksLayout.Slot::derivation)
        .mapToInt(how -> how instanceof LuksLayout.Argon2 argon2 ? argon2.memoryKib() : 0)
        .max()
        .orElse(0);
  }

  /** Whether it is of the same volume key as another one. */
  public boolean hasKeyOf(LuksRegion other) {
    LuksLayout.Digest mine = layout.digest();
    LuksLayout.Digest others = other.layout.digest();
    return MessageDigest.isEqual(mine.value(), others.value())
        && Arrays.equals(mine.derivation().salt(), others.derivation().salt())
        && mine.derivation().hash().equals(others.derivation().hash())
        && mine.derivation().iterations() == others.derivation().iterations();
  }

  /**
   * Writes it to a file that is new, once: both copies of the header as it was read, and the slots
   * that are in use, which are read one by one. Then it keeps little in memory: it may be in use
   * for minutes, and others beside it.
   *
   * @param device the one that it was read from
   */
  public void writeTo(BlockReader device, SeekableByteChannel file) throws IOException {
    if (header == null) {
      throw new IllegalStateException("the header was written before");
    }
    write(file, 0, header.first());
    write(file, header.bytes(), header.second());
    header = null;
    for (LuksLayout.Slot slot : layout.slots()) {
      byte[] bytes = new byte[slot.spreadBytes(layout.keyBytes())];
      device.read(slot.offset(), ByteBuffer.wrap(bytes));
      write(file, slot.offset(), bytes);
    }
    write(file, layout.dataOffset() - 1, new byte[1]); // as long as cryptsetup wants it
  }

  private static void write(SeekableByteChannel file, long offset, byte[] bytes)
      throws IOException {
    file.position(offset);
    for (ByteBuffer left = ByteBuffer.wrap(bytes); left.hasRemaining(); ) {
      file.write(left);
    }
  }
}
