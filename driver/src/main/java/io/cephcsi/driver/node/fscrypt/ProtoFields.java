package io.cephcsi.driver.node.fscrypt;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The fields of one message of Protocol Buffers, as far as the metadata of fscrypt need it: numbers
 * (wire type 0) and bytes (wire type 2). Others are passed over, as their readers are to do.
 *
 * <pre>
 *   field:  tag = number &lt;&lt; 3 | wire type, as a varint
 *   type 0: a varint: 7 bits in each byte, the lowest first, the top bit set but in the last
 *   type 1: 8 bytes    type 2: the length as a varint, so many bytes    type 5: 4 bytes
 * </pre>
 */
final class ProtoFields {
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int BYTES = 2;
  private static final int FIXED32 = 5;
  private static final int LONGEST_VARINT = 10;

  @SuppressWarnings("ArrayRecordComponent") // not compared
  private record Field(int number, long value, byte[] bytes, boolean isNumber) {}

  private final List<Field> fields = new ArrayList<>();

  private ProtoFields() {}

  /**
   * Reads a message.
   *
   * @throws IOException when it is none; the message does not have what is in it
   */
  static ProtoFields read(byte[] message) throws IOException {
    ProtoFields result = new ProtoFields();
    Cursor cursor = new Cursor(message);
    while (!cursor.isAtEnd()) {
      long tag = cursor.varint();
      int number = (int) (tag >>> 3);
      if (tag >>> 3 != number || number == 0) {
        throw new IOException("no field has such a number");
      }
      switch ((int) (tag & 7)) {
        case VARINT -> result.fields.add(new Field(number, cursor.varint(), new byte[0], true));
        case BYTES -> result.fields.add(new Field(number, 0, cursor.take(cursor.varint()), false));
        case FIXED64 -> cursor.take(Long.BYTES);
        case FIXED32 -> cursor.take(Integer.BYTES);
        default -> throw new IOException("no field has such a type");
      }
    }
    return result;
  }

  /** A number; 0 where there is none. */
  long number(int field) throws IOException {
    long value = 0;
    for (Field one : fields) {
      if (one.number == field) {
        require(one.isNumber);
        value = one.value;
      }
    }
    return value;
  }

  /** A number that an {@code int} holds, not below 0. */
  int count(int field) throws IOException {
    long value = number(field);
    require(value >= 0 && value <= Integer.MAX_VALUE);
    return (int) value;
  }

  /** Bytes; none where there are none. */
  byte[] bytes(int field) throws IOException {
    List<byte[]> all = all(field);
    return all.isEmpty() ? new byte[0] : all.get(all.size() - 1);
  }

  /** A text; empty where there is none. */
  String text(int field) throws IOException {
    return new String(bytes(field), UTF_8);
  }

  /** A message in this one; empty where there is none. */
  ProtoFields message(int field) throws IOException {
    return read(bytes(field));
  }

  /** What a field has that may be there several times. */
  List<byte[]> all(int field) throws IOException {
    List<byte[]> found = new ArrayList<>();
    for (Field one : fields) {
      if (one.number == field) {
        require(!one.isNumber);
        found.add(one.bytes);
      }
    }
    return found;
  }

  private static void require(boolean fits) throws IOException {
    if (!fits) {
      throw new IOException("a field has another type");
    }
  }

  private static final class Cursor {
    private final byte[] message;
    private int at;

    Cursor(byte[] message) {
      this.message = message;
    }

    boolean isAtEnd() {
      return at == message.length;
    }

    long varint() throws IOException {
      long value = 0;
      for (int i = 0; i < LONGEST_VARINT; i++) {
        if (isAtEnd()) {
          throw new IOException("it is cut off");
        }
        byte part = message[at++];
        value |= (part & 0x7fL) << (7 * i);
        if (part >= 0) {
          return value;
        }
      }
      throw new IOException("a number is too long");
    }

    byte[] take(long length) throws IOException {
      if (length < 0 || length > message.length - at) {
        throw new IOException("it is cut off");
      }
      at += (int) length;
      return Arrays.copyOfRange(message, at - (int) length, at);
    }
  }

  /** Writes a message. What is 0 or empty is left out, as version 3 of the language has it. */
  static final class Writer {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    Writer number(int field, long value) {
      if (value != 0) {
        varint((long) field << 3 | VARINT);
        varint(value);
      }
      return this;
    }

    Writer bytes(int field, byte[] value) {
      if (value.length > 0) {
        varint((long) field << 3 | BYTES);
        varint(value.length);
        out.writeBytes(value);
      }
      return this;
    }

    Writer text(int field, String value) {
      return bytes(field, value.getBytes(UTF_8));
    }

    byte[] toBytes() {
      return out.toByteArray();
    }

    private void varint(long value) {
      long left = value;
      while ((left & ~0x7fL) != 0) {
        out.write((int) ((left & 0x7f) | 0x80));
        left >>>= 7;
      }
      out.write((int) left);
    }
  }
}
