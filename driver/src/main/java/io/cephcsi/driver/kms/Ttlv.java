package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An item of KMIP, as tag, type, length and value: the value is padded to 8 bytes.
 *
 * <pre>
 * | tag 3 | type 1 | length 4 | value, padded |
 * </pre>
 *
 * Pure.
 *
 * @param tag what it is
 * @param value of all types but structures
 * @param items of a structure
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
record Ttlv(int tag, int type, byte[] value, List<Ttlv> items) {
  static final int STRUCTURE = 1;
  static final int INTEGER = 2;
  static final int ENUMERATION = 5;
  static final int TEXT = 7;
  static final int BYTES = 8;

  /** The length of tag, type and length in bytes. */
  static final int HEAD = 8;

  private static final int DEEPEST = 16;
  private static final int MOST = 1000;

  /** A structure. */
  static Ttlv structure(int tag, Ttlv... items) {
    return new Ttlv(tag, STRUCTURE, new byte[0], List.of(items));
  }

  /** An integer. */
  static Ttlv integer(int tag, int value) {
    return new Ttlv(tag, INTEGER, ByteBuffer.allocate(4).putInt(value).array(), List.of());
  }

  /** One of some meanings. */
  static Ttlv enumeration(int tag, int value) {
    return new Ttlv(tag, ENUMERATION, ByteBuffer.allocate(4).putInt(value).array(), List.of());
  }

  /** A text. */
  static Ttlv text(int tag, String value) {
    return new Ttlv(tag, TEXT, value.getBytes(UTF_8), List.of());
  }

  /** Bytes. */
  static Ttlv bytes(int tag, byte[] value) {
    return new Ttlv(tag, BYTES, value, List.of());
  }

  /** As it is sent. */
  byte[] encoded() {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    if (type == STRUCTURE) {
      items.forEach(item -> content.writeBytes(item.encoded()));
    } else {
      content.writeBytes(value);
    }
    int length = content.size();
    content.writeBytes(new byte[padded(length) - length]);
    return ByteBuffer.allocate(HEAD + content.size())
        .putInt(tag << 8 | type)
        .putInt(length)
        .put(content.toByteArray())
        .array();
  }

  private static int padded(int length) {
    return (length + 7) / 8 * 8;
  }

  /**
   * Reads one item, which all of the bytes are.
   *
   * @throws IOException when a length is wrong
   */
  static Ttlv decoded(byte[] bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    Ttlv item = item(buffer, DEEPEST);
    if (buffer.hasRemaining()) {
      throw new IOException("bytes follow the message");
    }
    return item;
  }

  private static Ttlv item(ByteBuffer buffer, int depth) throws IOException {
    if (depth == 0 || buffer.remaining() < HEAD) {
      throw new IOException("an item is cut off, or too deep");
    }
    int head = buffer.getInt();
    int length = buffer.getInt();
    int type = head & 0xFF;
    if (length < 0 || length > buffer.remaining() || padded(length) > buffer.remaining()) {
      throw new IOException("the length of an item is wrong");
    }
    if (type == STRUCTURE) {
      if (length % 8 != 0) {
        throw new IOException("the length of a structure is wrong");
      }
      ByteBuffer content = buffer.slice(buffer.position(), length);
      buffer.position(buffer.position() + length);
      List<Ttlv> items = new ArrayList<>();
      while (content.hasRemaining()) {
        items.add(item(content, depth - 1));
        if (items.size() > MOST) {
          throw new IOException("a structure has too many items");
        }
      }
      return new Ttlv(head >>> 8, type, new byte[0], items);
    }
    if ((type == INTEGER || type == ENUMERATION) && length != 4) {
      throw new IOException("the length of a number is wrong");
    }
    byte[] value = new byte[length];
    buffer.get(value);
    buffer.position(buffer.position() + padded(length) - length);
    return new Ttlv(head >>> 8, type, value, List.of());
  }

  /** The first item of a tag. */
  Optional<Ttlv> find(int wanted) {
    return items.stream().filter(item -> item.tag() == wanted).findFirst();
  }

  /** As number; -1 of other types. */
  int number() {
    return type == INTEGER || type == ENUMERATION ? ByteBuffer.wrap(value).getInt() : -1;
  }

  /** As text; empty of other types. */
  String text() {
    return type == TEXT ? new String(value, UTF_8) : "";
  }

  /** Without the value. */
  @Override
  public String toString() {
    return String.format("item %06x", tag);
  }
}
