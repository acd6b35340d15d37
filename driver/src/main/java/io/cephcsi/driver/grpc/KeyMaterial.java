package io.cephcsi.driver.grpc;

import java.util.Collection;
import java.util.regex.Pattern;

/**
 * Hides keys in texts for people: a key in the wrong field of a request must not appear in the
 * error. Pure.
 */
public final class KeyMaterial {
  private static final String HIDDEN = "***stripped***";
  private static final int SHORTEST = 20;

  /**
   * Keys of Ceph in base64: they begin with their type (1 for aes, 2 for aes256k) in two bytes, and
   * have 40 or 60 characters unless a part is missing.
   */
  private static final Pattern KEY =
      Pattern.compile(
          "(?<![A-Za-z0-9+/])(A[Qg][A-D][A-Za-z0-9+/]{17,}={0,2}"
              + "|[A-Za-z0-9+/]{38}==|[A-Za-z0-9+/]{59}=)");

  private KeyMaterial() {}

  /** The text, with asterisks for what looks like a key. */
  public static String hide(String text) {
    return text.length() < SHORTEST ? text : KEY.matcher(text).replaceAll(HIDDEN);
  }

  /** As {@link #hide(String)}, and with asterisks for each of the secrets. */
  static String hide(String text, Collection<String> secrets) {
    String shown = text;
    for (String secret : secrets) {
      shown = shown.replace(secret, HIDDEN);
    }
    return hide(shown);
  }
}
