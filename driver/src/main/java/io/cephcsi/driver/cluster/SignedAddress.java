package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.IoContext;
import java.util.Optional;

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
  private SignedAddress() {}

  /**
   * The address of this client.
   *
   * @param purpose such as the name of the attribute
   * @return empty if the connection was given no key
   */
  public static Optional<String> own(IoContext io, String object, String purpose) {
    String address = io.cluster().addresses();
    return KeyedSignature.of(io.cluster(), signed(io, object, purpose, address))
        .map(signature -> address + " " + signature);
  }

  /**
   * The address in a text.
   *
   * @return empty unless a client of the same user wrote it there for this purpose
   */
  public static Optional<String> proven(IoContext io, String object, String purpose, String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 2
            && ClientFence.isClient(parts[0])
            && KeyedSignature.proves(io.cluster(), signed(io, object, purpose, parts[0]), parts[1])
        ? Optional.of(parts[0])
        : Optional.empty();
  }

  private static String signed(IoContext io, String object, String purpose, String address) {
    String location = io.cluster().fsid() + "/" + io.poolId() + "/" + io.namespace() + "/" + object;
    return location + " " + purpose + " " + address;
  }
}
