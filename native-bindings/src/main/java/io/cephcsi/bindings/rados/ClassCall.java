package io.cephcsi.bindings.rados;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * A method of an object class, with its input put together piece by piece as Ceph encodes it:
 * little-endian, strings behind their length. Used by one thread; nothing here blocks.
 */
public final class ClassCall {
  private final String objectClass;
  private final String method;
  private final ByteArrayOutputStream input = new ByteArrayOutputStream();

  private ClassCall(String objectClass, String method) {
    this.objectClass = objectClass;
    this.method = method;
  }

  /**
   * A call without input yet.
   *
   * @param objectClass such as {@code rbd}
   */
  public static ClassCall of(String objectClass, String method) {
    return new ClassCall(objectClass, method);
  }

  /** A byte. */
  public ClassCall u8(int value) {
    input.write(value);
    return this;
  }

  /** Four bytes. */
  public ClassCall u32(int value) {
    return bytes(little(Integer.BYTES).putInt(value).array());
  }

  /** Eight bytes. */
  public ClassCall u64(long value) {
    return bytes(little(Long.BYTES).putLong(value).array());
  }

  /** A text in UTF-8 behind its length in bytes. */
  public ClassCall string(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    return u32(utf8.length).bytes(utf8);
  }

  /** Seconds and nanoseconds. */
  public ClassCall time(Instant value) {
    return u32((int) value.getEpochSecond()).u32(value.getNano());
  }

  /** A structure with its version, the oldest version whose readers can read it, and its length. */
  public ClassCall structure(int version, int oldestReader, ClassCall content) {
    byte[] bytes = content.input();
    return u8(version).u8(oldestReader).u32(bytes.length).bytes(bytes);
  }

  /** Only an input, to be put into another. */
  public static ClassCall content() {
    return new ClassCall("", "");
  }

  private ClassCall bytes(byte[] bytes) {
    input.write(bytes, 0, bytes.length);
    return this;
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The input as it is by now. */
  public byte[] input() {
    return input.toByteArray();
  }

  /** Makes this call a step of a compound read. */
  public ReadOperation.Result<byte[]> addTo(ReadOperation read) {
    return read.exec(objectClass, method, input());
  }

  /** What a method gave, to be read in Ceph's order of bytes. */
  public static ByteBuffer output(byte[] encoded) {
    return ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Reads what {@link #time(Instant)} writes. */
  public static Instant time(ByteBuffer in) {
    return Instant.ofEpochSecond(Integer.toUnsignedLong(in.getInt()), in.getInt());
  }

  /** Makes this call a step of a compound write. */
  public void addTo(WriteOperation write) {
    write.exec(objectClass, method, input());
  }
}
