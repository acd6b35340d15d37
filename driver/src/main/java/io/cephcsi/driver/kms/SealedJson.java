package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.util.Base64;
import java.util.Map;

/**
 * A wrapped passphrase as ceph-csi keeps it, {@code {"dek":"...","nonce":"..."}} in Base64. Pure.
 *
 * @param dek what is encrypted
 * @param nonce by which it was
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
record SealedJson(byte[] dek, byte[] nonce) {
  private static final int LONGEST = 64 << 10;

  /** As text, byte for byte as ceph-csi writes it. */
  String text() {
    Base64.Encoder base64 = Base64.getEncoder();
    return "{\"dek\":\""
        + base64.encodeToString(dek)
        + "\",\"nonce\":\""
        + base64.encodeToString(nonce)
        + "\"}";
  }

  /**
   * Reads it.
   *
   * @throws IOException when it is not of this form; the message does not have the text
   */
  static SealedJson read(String text) throws IOException {
    if (text.length() > LONGEST) {
      throw new IOException("too long");
    }
    if (Json.tree(text.getBytes(UTF_8)) instanceof Map<?, ?> found
        && found.get("dek") instanceof String dek
        && found.get("nonce") instanceof String nonce) {
      try {
        return new SealedJson(Base64.getDecoder().decode(dek), Base64.getDecoder().decode(nonce));
      } catch (IllegalArgumentException e) {
        throw new IOException("no Base64");
      }
    }
    throw new IOException("no object with dek and nonce");
  }
}
