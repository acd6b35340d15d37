package io.cephcsi.driver.kms;

import io.cephcsi.driver.volume.PlainText;
import java.util.List;

/**
 * What a server says of an error, as it may be shown: on one line, cut, and without what was sent
 * to it, which it may send back. Pure.
 */
final class ServerErrors {
  private static final int SHOWN = 200;
  private static final int MOST = 3;
  private static final int SHORTEST_SECRET = 4;

  private ServerErrors() {}

  /**
   * Of the texts of a documented field.
   *
   * @param secrets what was sent
   * @return empty, or the texts after a colon
   */
  static String shown(List<?> texts, List<String> secrets) {
    StringBuilder shown = new StringBuilder();
    for (Object text : texts.subList(0, Math.min(MOST, texts.size()))) {
      if (text instanceof String one && !one.isEmpty()) {
        String without = one;
        for (String secret : secrets) {
          if (secret.length() >= SHORTEST_SECRET) {
            without = without.replace(secret, "***");
          }
        }
        shown.append(shown.length() == 0 ? ": " : "; ").append(PlainText.escape(without, SHOWN));
      }
    }
    return shown.toString();
  }
}
