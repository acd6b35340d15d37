package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * What a method of an object class gave, or a value that is encoded in the same way, read piece by
 * piece. Who may write to a pool decides upon the bytes: no length or count in them is believed
 * before that many bytes are there. Used by one thread; nothing here blocks.
 */
public final class ClassOutput {
  private final ByteBuffer bytes;

  private ClassOutput(ByteBuffer bytes) {
    this.bytes = bytes;
  }

  /**
   * Decodes a whole value.
   *
   * @param what it is, for the message
   * @param decoder reads it; must not keep what it gets
   * @throws CephException EBADMSG when the bytes are not such a value
   */
  public static <T> T decode(String what, byte[] encoded, Function<ClassOutput, T> decoder) {
    try {
      return decoder.apply(
          new ClassOutput(ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN)));
    } catch (BufferUnderflowException e) {
      throw new CephException("decode", what, -Errno.EBADMSG.number(), "it is damaged");
    }
  }

  /** A number of one byte. */
  public int u8() {
    return Byte.toUnsignedInt(bytes.get());
  }

  /** A number of four bytes, as Java's signed one. */
  public int u32() {
    return bytes.getInt();
  }

  /** A number of eight bytes, as Java's signed one. */
  public long u64() {
    return bytes.getLong();
  }

  /** A text in UTF-8 behind its length in bytes. */
  public String string() {
    byte[] utf8 = new byte[atMostTheRest(bytes.getInt())];
    bytes.get(utf8);
    return new String(utf8, StandardCharsets.UTF_8);
  }

  /** A list behind its length. */
  public <T> List<T> list(Function<ClassOutput, T> element) {
    int count = atMostTheRest(bytes.getInt()); // an element has a byte at least
    List<T> list = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      list.add(element.apply(this));
    }
    return list;
  }

  /** A versioned structure, of which the reader may leave what it does not know. */
  public <T> T structure(Function<ClassOutput, T> content) {
    bytes.getShort(); // version, and the oldest whose readers can read it
    int end = atMostTheRest(bytes.getInt()) + bytes.position();
    int outer = bytes.limit();
    bytes.limit(end);
    T read = content.apply(this);
    bytes.limit(outer).position(end);
    return read;
  }

  private int atMostTheRest(int length) {
    if (length < 0 || length > bytes.remaining()) {
      throw new BufferUnderflowException();
    }
    return length;
  }
}
