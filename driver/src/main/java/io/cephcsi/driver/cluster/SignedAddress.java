package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.IoContext;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The address of a client, stored in an object, so that another client can blocklist it after it
 * died. Others may write to the object too; so that they cannot have arbitrary clients blocklisted,
 * the address is signed with the key of the client's user, for this object and this purpose.
 *
 * <pre>
 *   address · space · HMAC-SHA-256 in hex
 * </pre>
 *
 * <p>Needs a connection that was given its key: one that found it in a keyring neither signs nor
 * proves. Safe for several threads; does not block.
 */
public final class SignedAddress {
  private static final String HMAC = "HmacSHA256";

  private SignedAddress() {}

  /**
   * The address of this client.
   *
   * @param purpose such as the name of the attribute
   * @return empty if the connection was given no key
   */
  public static Optional<String> own(IoContext io, String object, String purpose) {
    String address = io.cluster().addresses();
    return signature(io, object, purpose, address).map(signature -> address + " " + signature);
  }

  /**
   * The address in a text.
   *
   * @return empty unless a client of the same user wrote it there for this purpose
   */
  public static Optional<String> proven(IoContext io, String object, String purpose, String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 2 && ClientFence.isClient(parts[0])
        ? signature(io, object, purpose, parts[0])
            .filter(ours -> MessageDigest.isEqual(ours.getBytes(UTF_8), parts[1].getBytes(UTF_8)))
            .map(ours -> parts[0])
        : Optional.empty();
  }

  private static Optional<String> signature(
      IoContext io, String object, String purpose, String address) {
    byte[] key = io.cluster().option("key").getBytes(UTF_8);
    if (key.length == 0) {
      return Optional.empty();
    }
    String location = io.cluster().fsid() + "/" + io.poolId() + "/" + io.namespace() + "/" + object;
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(new SecretKeySpec(key, HMAC));
      byte[] signed = mac.doFinal((location + " " + purpose + " " + address).getBytes(UTF_8));
      return Optional.of(HexFormat.of().formatHex(signed));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + HMAC, e);
    }
  }
}
