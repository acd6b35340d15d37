package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.IoContext;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What a worker leaves at an object for as long as it works on it, so that whoever takes over can
 * shut it out: an attribute with the address of its client. Others may write to the object, too,
 * and must not be able to have any client shut out that they like: the address is signed with the
 * key of the worker's user, for this object and this attribute.
 *
 * <pre>
 *   csi.java.worker.UUID  →  address · space · HMAC-SHA-256 in hex
 * </pre>
 *
 * <p>Ends with {@link #close}. Safe for several threads; does not block.
 */
public final class WorkerMark implements AutoCloseable {
  private static final String PREFIX = "csi.java.worker.";
  private static final Pattern NAME =
      Pattern.compile(Pattern.quote(PREFIX) + "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  private static final String HMAC = "HmacSHA256";

  /** The marks of this process: two drivers in it may use one connection. */
  private static final Set<String> AT_WORK = ConcurrentHashMap.newKeySet();

  private final String name = PREFIX + UUID.randomUUID();

  /** A mark of its own for one piece of work, which begins now. */
  public WorkerMark() {
    AT_WORK.add(name);
  }

  /** Whether an attribute's name is that of a mark. */
  public static boolean isName(String name) {
    return NAME.matcher(name).matches();
  }

  /** The attribute's name. */
  public String name() {
    return name;
  }

  /** The attribute's value for an object. */
  public byte[] value(IoContext io, String object) {
    String address = io.cluster().addresses();
    return (address + " " + signature(io, object, name, address)).getBytes(UTF_8);
  }

  /**
   * The address in a mark.
   *
   * @param name the attribute's name
   * @param value what is there
   * @return empty unless a client of the same user wrote it there
   */
  public static Optional<String> address(IoContext io, String object, String name, byte[] value) {
    String[] parts = new String(value, UTF_8).split(" ", -1);
    return parts.length == 2
            && ClientFence.isClient(parts[0])
            && MessageDigest.isEqual(
                signature(io, object, name, parts[0]).getBytes(UTF_8), parts[1].getBytes(UTF_8))
        ? Optional.of(parts[0])
        : Optional.empty();
  }

  private static String signature(IoContext io, String object, String name, String address) {
    String place = io.cluster().fsid() + "/" + io.poolId() + "/" + io.namespace() + "/" + object;
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(new SecretKeySpec(io.cluster().option("key").getBytes(UTF_8), HMAC));
      return HexFormat.of()
          .formatHex(mac.doFinal((place + " " + name + " " + address).getBytes(UTF_8)));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + HMAC, e);
    }
  }

  /** Whether a worker of this process has the mark, and has not ended. */
  public static boolean isAtWork(String name) {
    return AT_WORK.contains(name);
  }

  @Override
  public void close() {
    AT_WORK.remove(name);
  }
}
