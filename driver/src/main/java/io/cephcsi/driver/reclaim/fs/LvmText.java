package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Parses LVM2's text metadata. Takes what LVM2 itself writes, and refuses all else. */
final class LvmText {
  /** LVM2 leaves half of the metadata area, 1 MiB as a rule, to the version before. */
  static final int LONGEST = 512 << 10;

  private static final int DEEPEST = 6;
  private static final int LONGEST_NAME = 128;
  private static final int MOST_DIGITS = 18;

  private final ByteBuffer bytes;

  private LvmText(ByteBuffer bytes) {
    this.bytes = bytes;
  }

  /**
   * @param bytes all of the text, from position 0; a zero may end it
   * @throws Refusal if it is not what LVM2 writes
   */
  static LvmSection parse(ByteBuffer bytes) {
    int length = bytes.limit();
    if (length > LONGEST) {
      throw Refusal.unsupported("LVM2 metadata of " + length + " bytes");
    }
    if (length > 0 && bytes.get(length - 1) == 0) {
      length--;
    }
    LvmText text = new LvmText(bytes.slice(0, length));
    LvmSection root = text.section(0);
    require(text.atEnd());
    return root;
  }

  /** What is between braces, or all of the text. */
  private LvmSection section(int depth) {
    require(depth <= DEEPEST);
    LvmSection section = new LvmSection();
    while (!atEnd() && peek() != '}') {
      String name = name();
      Object value;
      if (next() == '{') {
        value = section(depth + 1);
        require(next() == '}');
      } else {
        require(bytes.get(bytes.position() - 1) == '=');
        value = value();
      }
      require(section.put(name, value));
    }
    return section;
  }

  private Object value() {
    skip();
    int first = peek();
    if (first == '"') {
      return text();
    }
    if (first != '[') {
      return number();
    }
    bytes.get();
    List<Object> list = new ArrayList<>();
    skip();
    if (peek() == ']') {
      bytes.get();
      return list;
    }
    while (true) {
      skip();
      list.add(peek() == '"' ? text() : number());
      int after = next();
      if (after == ']') {
        return list;
      }
      require(after == ',');
    }
  }

  private String name() {
    StringBuilder name = new StringBuilder();
    while (bytes.hasRemaining() && isName(peek())) {
      name.append((char) bytes.get());
    }
    require(name.length() > 0 && name.length() <= LONGEST_NAME);
    return name.toString();
  }

  private static boolean isName(int c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || "_-+.".indexOf(c) >= 0;
  }

  private Long number() {
    boolean negative = peek() == '-';
    if (negative) {
      bytes.get();
    }
    long value = 0;
    int digits = 0;
    while (bytes.hasRemaining() && peek() >= '0' && peek() <= '9') {
      value = 10 * value + bytes.get() - '0';
      digits++;
      require(digits <= MOST_DIGITS);
    }
    require(digits > 0);
    return negative ? -value : value;
  }

  private String text() {
    StringBuilder text = new StringBuilder();
    bytes.get();
    while (true) {
      int c = take();
      if (c == '"') {
        return text.toString();
      }
      if (c == '\\') {
        c = take();
        require(c == '"' || c == '\\');
      }
      require(c >= ' ' && c != 0x7f);
      text.append((char) c);
    }
  }

  /** The next character behind white space and comments. */
  private int next() {
    skip();
    return take();
  }

  private boolean atEnd() {
    skip();
    return !bytes.hasRemaining();
  }

  private void skip() {
    while (bytes.hasRemaining()) {
      int c = peek();
      if (c == '#') {
        while (bytes.hasRemaining() && peek() != '\n') {
          require(bytes.get() != 0);
        }
      } else if (c == ' ' || c == '\t' || c == '\n') {
        bytes.get();
      } else {
        return;
      }
    }
  }

  private int peek() {
    require(bytes.hasRemaining());
    return bytes.get(bytes.position()) & 0xff;
  }

  private int take() {
    require(bytes.hasRemaining());
    return bytes.get() & 0xff;
  }

  private static void require(boolean holds) {
    Refusal.require(holds, "the text of the LVM2 metadata is not well formed");
  }
}
