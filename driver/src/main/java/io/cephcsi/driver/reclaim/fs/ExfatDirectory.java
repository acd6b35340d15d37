package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads the entries of one directory of exFAT, part by part, with their checksums. */
final class ExfatDirectory {
  private static final int ENTRY = 32;
  private static final int MOST_SECONDARY = 18;
  private static final int IN_USE = 0x80;
  private static final int BITMAP = 0x81;
  private static final int UPCASE = 0x82;
  private static final int LABEL = 0x83;
  private static final int FILE = 0x85;
  private static final int GUID = 0xA0;
  private static final int STREAM = 0xC0;
  private static final int NAME = 0xC1;
  private static final int DIRECTORY_ATTRIBUTE = 0x10;
  private static final int ALLOCATION = 1;
  private static final int CONTIGUOUS = 2;
  private static final int NAME_PART = 15;

  private final boolean root;

  /** The set that is being read: a file entry and what belongs to it. */
  private final ByteBuffer set =
      ByteBuffer.allocate((1 + MOST_SECONDARY) * ENTRY).order(ByteOrder.LITTLE_ENDIAN);

  private int missing;
  private boolean ended;

  /** What has clusters. */
  enum Kind {
    FILE,
    DIRECTORY,
    BITMAP,
    UPCASE
  }

  /**
   * Clusters that an entry names.
   *
   * @param first its first cluster
   * @param length bytes, more than 0
   * @param contiguous whether the clusters lie one behind the other, with no chain
   * @param checksum of the content of an up-case table, otherwise 0
   */
  record Stream(Kind kind, int first, long length, boolean contiguous, int checksum) {}

  /** Receives what has clusters. */
  interface Streams {
    void visit(Stream stream) throws IOException;
  }

  ExfatDirectory(boolean root) {
    this.root = root;
  }

  /** Takes the next part of the directory and hands over what has clusters. */
  void take(ByteBuffer part, Streams streams) throws IOException {
    for (int at = 0; at < part.limit(); at += ENTRY) {
      ByteBuffer entry = part.slice(at, ENTRY).order(ByteOrder.LITTLE_ENDIAN);
      if (missing > 0) {
        takeSecondary(entry, streams);
      } else {
        takePrimary(entry, streams);
      }
    }
  }

  /** To be called after the last part. */
  void end() {
    Refusal.require(missing == 0, "a directory ends within a set of entries");
  }

  private void takePrimary(ByteBuffer entry, Streams streams) throws IOException {
    int type = entry.get(0) & 0xff;
    Refusal.require(!ended || type == 0, "a directory goes on after its end");
    if (type < IN_USE) {
      ended |= type == 0;
    } else if (type == FILE) {
      missing = entry.get(1) & 0xff;
      Refusal.require(missing >= 2 && missing <= MOST_SECONDARY, "a bad set of entries");
      set.clear().put(entry);
    } else if (root) {
      takeOfRoot(type, entry, streams);
    } else {
      throw Refusal.unsupported("an entry of type " + type + " in a directory");
    }
  }

  private static void takeOfRoot(int type, ByteBuffer entry, Streams streams) throws IOException {
    switch (type) {
      case BITMAP -> {
        Refusal.require(entry.get(1) == 0, "the bitmap belongs to another table");
        streams.visit(stream(Kind.BITMAP, entry, 0, 0));
      }
      case UPCASE -> streams.visit(stream(Kind.UPCASE, entry, 0, entry.getInt(4)));
      case LABEL -> Refusal.require(entry.get(1) >= 0 && entry.get(1) <= 11, "a bad label");
      case GUID -> {
        Refusal.require(entry.get(1) == 0, "a bad entry of a volume's identifier");
        checkSum(entry);
      }
      default -> throw Refusal.unsupported("an entry of type " + type + " in the root directory");
    }
  }

  private void takeSecondary(ByteBuffer entry, Streams streams) throws IOException {
    int type = entry.get(0) & 0xff;
    boolean first = set.position() == ENTRY;
    if (type >= IN_USE && type != STREAM && type != NAME) {
      throw Refusal.unsupported("an entry of type " + type + " of a file");
    }
    Refusal.require(type == (first ? STREAM : NAME), "a set of entries is broken");
    set.put(entry);
    missing--;
    if (missing == 0) {
      set.flip();
      checkSum(set);
      takeSet(streams);
    }
  }

  private void takeSet(Streams streams) throws IOException {
    int names = set.limit() / ENTRY - 2;
    int nameLength = set.get(ENTRY + 3) & 0xff;
    Refusal.require(
        nameLength > 0 && (nameLength + NAME_PART - 1) / NAME_PART == names, "a broken file name");
    for (int at = 2 * ENTRY; at < set.limit(); at += ENTRY) {
      Refusal.require(set.get(at + 1) == 0, "a file name has clusters");
    }
    boolean directory = (set.getShort(4) & DIRECTORY_ATTRIBUTE) != 0;
    ByteBuffer entry = set.slice(ENTRY, ENTRY).order(ByteOrder.LITTLE_ENDIAN);
    int flags = entry.get(1) & 0xff;
    Refusal.require((flags & ~(ALLOCATION | CONTIGUOUS)) == 0, "unknown flags of a file");
    long valid = entry.getLong(8);
    long length = entry.getLong(24);
    Refusal.require(
        valid >= 0 && valid <= length && (!directory || valid == length), "a bad length of a file");
    if (length == 0 && !directory) {
      Refusal.require(entry.getInt(20) == 0, "an empty file has a cluster");
      return;
    }
    Refusal.require((flags & ALLOCATION) != 0, "a file without clusters has a length");
    streams.visit(stream(directory ? Kind.DIRECTORY : Kind.FILE, entry, flags & CONTIGUOUS, 0));
  }

  private static Stream stream(Kind kind, ByteBuffer entry, int contiguous, int checksum) {
    return new Stream(kind, entry.getInt(20), entry.getLong(24), contiguous != 0, checksum);
  }

  /** The checksum of a set is in its third and fourth byte, and leaves out these. */
  private static void checkSum(ByteBuffer entries) {
    int sum = 0;
    for (int i = 0; i < entries.limit(); i++) {
      if (i != 2 && i != 3) {
        sum = ((sum & 1) << 15) + (sum >>> 1) + (entries.get(i) & 0xff) & 0xffff;
      }
    }
    if (sum != (entries.getShort(2) & 0xffff)) {
      throw Refusal.checksum("a set of directory entries");
    }
  }
}
