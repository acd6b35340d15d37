package io.cephcsi.bindings.internal;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/** Reads memory that the native libraries own. */
public final class NativeMemory {
  private static final byte[] EMPTY = {};

  private NativeMemory() {}

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

  /** A string ended by a zero byte; empty when the address is 0. */
  public static String cString(long address) {
    return address == 0 ? "" : new Pointer(address).getString(0, "UTF-8");
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
