package io.cephcsi.driver.volume;

/**
 * Text that C, a terminal and a log show as it is: without control characters, which end it or
 * begin a line, without halves of characters, and without marks that turn its direction. Pure.
 */
public final class PlainText {
  private static final int SHOWN = 100;

  private PlainText() {}

  /** Whether a code point may be part of it. */
  public static boolean isPlain(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> !isDirection(codePoint) && codePoint != 0xFEFF && (codePoint & 0xFFFE) != 0xFFFE;
    };
  }

  private static boolean isDirection(int codePoint) {
    return codePoint == 0x061C
        || codePoint == 0x200E
        || codePoint == 0x200F
        || (codePoint >= 0x202A && codePoint <= 0x202E)
        || (codePoint >= 0x2066 && codePoint <= 0x2069);
  }

  /** Whether a text is plain. */
  public static boolean isPlain(String text) {
    return text.codePoints().allMatch(PlainText::isPlain);
  }

  /**
   * Refuses what is not plain.
   *
   * @param field names it, such as {@code parameters: pool}
   * @return the text
   * @throws VolumeException INVALID_ARGUMENT showing it
   */
  public static String require(String field, String text) {
    if (!isPlain(text)) {
      throw VolumeException.invalid(
          field + " must have no control characters or direction marks: " + show(text));
    }
    return text;
  }

  /** A text in quotes, as it may be shown: escaped, and cut after 100 characters. */
  public static String show(String text) {
    StringBuilder shown = new StringBuilder("\"");
    text.codePoints()
        .limit(SHOWN)
        .forEach(
            codePoint -> {
              if (codePoint == '"' || codePoint == '\\') {
                shown.append('\\').appendCodePoint(codePoint);
              } else if (isPlain(codePoint)) {
                shown.appendCodePoint(codePoint);
              } else {
                shown.append(String.format("\\u%04x", codePoint));
              }
            });
    return shown.append(text.codePointCount(0, text.length()) > SHOWN ? "...\"" : "\"").toString();
  }

  /** A text on one line: a line break is shown as {@code \n}, the rest as a number. */
  public static String escape(String text) {
    if (isPlain(text)) {
      return text;
    }
    StringBuilder shown = new StringBuilder(text.length() + 16);
    text.codePoints().forEach(codePoint -> append(shown, codePoint));
    return shown.toString();
  }

  /**
   * As {@link #escape(String)}, cut after so many characters; three dots stand for the rest.
   *
   * @param limit at least 3
   */
  public static String escape(String text, int limit) {
    // Escaping makes no text shorter: what is behind the limit is not looked at.
    String shown = escape(text.substring(0, Math.min(text.length(), limit)));
    return text.length() <= limit && shown.length() <= limit
        ? shown
        : shown.substring(0, limit - 3) + "...";
  }

  private static void append(StringBuilder shown, int codePoint) {
    switch (codePoint) {
      case '\n' -> shown.append("\\n");
      case '\r' -> shown.append("\\r");
      case '\t' -> shown.append("\\t");
      default -> {
        if (isPlain(codePoint)) {
          shown.appendCodePoint(codePoint);
        } else {
          shown.append(String.format("\\u%04x", codePoint));
        }
      }
    }
  }
}
