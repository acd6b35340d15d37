package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.rados.WriteOperation;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * A method of the object class {@code rbd}, with its input put together piece by piece as Ceph
 * encodes it: little-endian, strings behind their length. Used by one thread.
 */
final class ClassCall {
  /** The object class. */
  static final String CLASS = "rbd";

  private final String method;
  private final ByteArrayOutputStream input = new ByteArrayOutputStream();

  private ClassCall(String method) {
    this.method = method;
  }

  static ClassCall of(String method) {
    return new ClassCall(method);
  }

  ClassCall u8(int value) {
    input.write(value);
    return this;
  }

  ClassCall u32(int value) {
    return bytes(little(Integer.BYTES).putInt(value).array());
  }

  ClassCall u64(long value) {
    return bytes(little(Long.BYTES).putLong(value).array());
  }

  ClassCall string(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    return u32(utf8.length).bytes(utf8);
  }

  /** Seconds and nanoseconds. */
  ClassCall time(Instant value) {
    return u32((int) value.getEpochSecond()).u32(value.getNano());
  }

  /** A structure with its version, the oldest version whose readers can read it, and its length. */
  ClassCall structure(int version, int oldestReader, ClassCall content) {
    byte[] bytes = content.input();
    return u8(version).u8(oldestReader).u32(bytes.length).bytes(bytes);
  }

  /** Only an input, to be put into another. */
  static ClassCall content() {
    return new ClassCall("");
  }

  private ClassCall bytes(byte[] bytes) {
    input.write(bytes, 0, bytes.length);
    return this;
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  byte[] input() {
    return input.toByteArray();
  }

  /** Makes this call a step of a compound write. */
  void addTo(WriteOperation write) {
    write.exec(CLASS, method, input());
  }
}
