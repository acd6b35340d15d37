package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reserves native memory, and reads memory that the native libraries own. */
public final class NativeMemory {
  private static final byte[] EMPTY = {};

  private NativeMemory() {}

  /**
   * How much to reserve for some bytes: never nothing, and in steps of 8.
   *
   * @throws IllegalArgumentException if the number is negative: C would read it as a huge size_t
   */
  static long size(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a size in bytes cannot be negative: " + bytes);
    }
    return bytes > Long.MAX_VALUE - 7 ? bytes : (Math.max(bytes, 1) + 7) & ~7L;
  }

  /** Reserves memory that is freed by {@link Native#free}. */
  static long allocate(long bytes) {
    long address = Native.malloc(bytes);
    if (address == 0) {
      throw new OutOfMemoryError("native memory, " + bytes + " bytes");
    }
    return address;
  }

  /** Copies bytes; the address may be 0 when the length is 0. */
  public static byte[] bytes(long address, long length) {
    if (length == 0) {
      return EMPTY;
    }
    return new Pointer(address).getByteArray(0, Math.toIntExact(length));
  }

  /** A string of known length in UTF-8; the address may be 0 when the length is 0. */
  public static String string(long address, long length) {
    return new String(bytes(address, length), StandardCharsets.UTF_8);
  }

  /**
   * A string ended by a zero byte; empty when the address is 0.
   *
   * @throws io.cephcsi.bindings.error.CephException.TooLarge if it has more than 64 KiB: names that
   *     others stored may have any length
   */
  public static String cString(long address) {
    if (address == 0) {
      return "";
    }
    long length = new Pointer(address).indexOf(0, (byte) 0);
    if (length > GrowingBuffer.VALUE_BYTES) {
      throw ReturnCode.exception(
          -Errno.EFBIG.number(), "a text", "", "it has " + length + " bytes");
    }
    return string(address, length);
  }

  /** Strings that follow one another, each ended by a zero byte, in {@code length} bytes. */
  public static List<String> cStrings(long address, long length) {
    List<String> strings = new ArrayList<>();
    byte[] bytes = bytes(address, length);
    int from = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == 0) {
        strings.add(new String(bytes, from, i - from, StandardCharsets.UTF_8));
        from = i + 1;
      }
    }
    return strings;
  }

  /** Writes bytes. */
  public static void putBytes(long address, byte[] bytes) {
    if (bytes.length > 0) {
      new Pointer(address).write(0, bytes, 0, bytes.length);
    }
  }

  /** Writes 64 bits. */
  public static void putLong(long address, long value) {
    new Pointer(address).setLong(0, value);
  }

  /** 64 bits. */
  public static long getLong(long address) {
    return new Pointer(address).getLong(0);
  }

  /** 32 bits. */
  public static int getInt(long address) {
    return new Pointer(address).getInt(0);
  }

  /** One byte. */
  public static byte getByte(long address) {
    return new Pointer(address).getByte(0);
  }
}
