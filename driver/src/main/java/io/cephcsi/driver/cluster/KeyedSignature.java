package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.RadosCluster;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs texts with the key of a connection's user, HMAC-SHA-256 in hex, so that only one who has
 * the key can have written them. Safe for several threads; does not block.
 */
final class KeyedSignature {
  private static final String HMAC = "HmacSHA256";

  private KeyedSignature() {}

  /** Of a text; empty if the connection was given no key. */
  static Optional<String> of(RadosCluster cluster, String text) {
    byte[] key = cluster.option("key").getBytes(UTF_8);
    if (key.length == 0) {
      return Optional.empty();
    }
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(new SecretKeySpec(key, HMAC));
      return Optional.of(HexFormat.of().formatHex(mac.doFinal(text.getBytes(UTF_8))));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + HMAC, e);
    }
  }

  /** Whether a client of the same user signed a text. */
  static boolean proves(RadosCluster cluster, String text, String signature) {
    return of(cluster, text)
        .filter(ours -> MessageDigest.isEqual(ours.getBytes(UTF_8), signature.getBytes(UTF_8)))
        .isPresent();
  }
}
