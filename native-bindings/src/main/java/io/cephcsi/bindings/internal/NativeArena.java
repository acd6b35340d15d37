package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Native memory for the arguments of one call, taken from a block that each thread reuses.
 *
 * <p>Used as {@code try (NativeArena arena = NativeArena.open()) {...}}; frames nest. Addresses are
 * valid until the frame is closed. What does not fit into the thread's block is allocated apart and
 * freed with the frame. Memory is not cleared.
 */
public final class NativeArena implements AutoCloseable {
  private static final int BLOCK_BYTES = 64 << 10;
  private static final int MAX_DEPTH = 16;
  private static final ThreadLocal<NativeArena> LOCAL = ThreadLocal.withInitial(NativeArena::new);

  private final ByteBuffer block =
      ByteBuffer.allocateDirect(BLOCK_BYTES).order(ByteOrder.nativeOrder());
  private final long base = Pointer.nativeValue(Native.getDirectBufferPointer(block));
  private final int[] tops = new int[MAX_DEPTH];
  private final int[] extraCounts = new int[MAX_DEPTH];
  private final List<Long> extras = new ArrayList<>();
  private int depth;
  private int top;

  private NativeArena() {}

  /** Opens a frame of this thread's arena. */
  public static NativeArena open() {
    NativeArena arena = LOCAL.get();
    if (arena.depth == MAX_DEPTH) {
      throw new IllegalStateException("native arena frames nest deeper than " + MAX_DEPTH);
    }
    arena.tops[arena.depth] = arena.top;
    arena.extraCounts[arena.depth] = arena.extras.size();
    arena.depth++;
    return arena;
  }

  /** Ends the innermost frame: everything allocated since its opening is free again. */
  @Override
  public void close() {
    depth--;
    top = tops[depth];
    for (int last = extras.size() - 1; last >= extraCounts[depth]; last--) {
      Native.free(extras.remove(last));
    }
  }

  /**
   * Reserves memory, aligned to 8 bytes, not cleared.
   *
   * @param bytes how many, 0 or more
   * @return the address
   */
  public long allocate(long bytes) {
    long rounded = NativeMemory.size(bytes);
    if (rounded <= BLOCK_BYTES - top) {
      long address = base + top;
      top += (int) rounded;
      return address;
    }
    long address = NativeMemory.allocate(rounded);
    extras.add(address);
    return address;
  }

  /** Reserves 8 bytes holding a value: an out parameter of the type pointer, size_t or uint64_t. */
  public long cell(long value) {
    long address = allocate(Long.BYTES);
    setLong(address, value);
    return address;
  }

  /** Copies bytes; the address of an empty array is valid, too. */
  public long bytes(byte[] value) {
    long address = allocate(value.length);
    copy(address, value);
    return address;
  }

  /**
   * Copies a string as UTF-8, ended by a zero byte.
   *
   * @throws IllegalArgumentException if it contains a zero character, which C would cut it at, or
   *     half of a surrogate pair, which would be sent as a question mark
   */
  public long cString(String value) {
    int length = value.length();
    if (length + 1 <= BLOCK_BYTES - top && putAscii(value, length)) {
      long address = base + top;
      top = Math.min((top + length + 8) & ~7, BLOCK_BYTES);
      return address;
    }
    byte[] utf8 = utf8(value);
    for (byte b : utf8) {
      requireNotZero(b);
    }
    long address = allocate(utf8.length + 1L);
    copy(address, utf8);
    setByte(address + utf8.length, (byte) 0);
    return address;
  }

  /** How many bytes a string has in UTF-8. */
  public static int utf8Length(String value) {
    int bytes = value.length();
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) >= 0x80) {
        return value.getBytes(StandardCharsets.UTF_8).length;
      }
    }
    return bytes;
  }

  /** A C array of pointers or of 64-bit numbers. */
  public long longs(long[] values) {
    long address = allocate((long) values.length * Long.BYTES);
    for (int i = 0; i < values.length; i++) {
      setLong(address + (long) i * Long.BYTES, values[i]);
    }
    return address;
  }

  /** Reads 64 bits at an address from this arena. */
  public long getLong(long address) {
    return inBlock(address)
        ? block.getLong((int) (address - base))
        : new Pointer(address).getLong(0);
  }

  /** Reads 32 bits at an address from this arena. */
  public int getInt(long address) {
    return inBlock(address) ? block.getInt((int) (address - base)) : new Pointer(address).getInt(0);
  }

  /** Reads one byte at an address from this arena. */
  public byte getByte(long address) {
    return inBlock(address) ? block.get((int) (address - base)) : new Pointer(address).getByte(0);
  }

  /** Copies bytes out of this arena. */
  public byte[] getBytes(long address, int length) {
    if (!inBlock(address)) {
      return NativeMemory.bytes(address, length);
    }
    byte[] bytes = new byte[length];
    block.get((int) (address - base), bytes, 0, length);
    return bytes;
  }

  private void setLong(long address, long value) {
    if (inBlock(address)) {
      block.putLong((int) (address - base), value);
    } else {
      new Pointer(address).setLong(0, value);
    }
  }

  private void setByte(long address, byte value) {
    if (inBlock(address)) {
      block.put((int) (address - base), value);
    } else {
      new Pointer(address).setByte(0, value);
    }
  }

  private void copy(long address, byte[] value) {
    if (inBlock(address)) {
      block.put((int) (address - base), value, 0, value.length);
    } else if (value.length > 0) {
      new Pointer(address).write(0, value, 0, value.length);
    }
  }

  private boolean inBlock(long address) {
    return address >= base && address < base + BLOCK_BYTES;
  }

  private boolean putAscii(String value, int length) {
    for (int i = 0; i < length; i++) {
      char c = value.charAt(i);
      if (c >= 0x80) {
        return false;
      }
      requireNotZero(c);
      block.put(top + i, (byte) c);
    }
    block.put(top + length, (byte) 0);
    return true;
  }

  private static byte[] utf8(String value) {
    try {
      // Unlike String.getBytes, a new encoder does not replace what it cannot encode.
      ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
      byte[] bytes = new byte[encoded.remaining()];
      encoded.get(bytes);
      return bytes;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("a name for the cluster cannot be written in UTF-8", e);
    }
  }

  private static void requireNotZero(int character) {
    if (character == 0) {
      throw new IllegalArgumentException("a name for the cluster cannot contain a zero character");
    }
  }
}
