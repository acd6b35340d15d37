package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.rados.IoContext;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * An extended attribute that a driver sets on an object while it works on it. Another driver that
 * takes the object's lock after it blocklists the client whose {@link SignedAddress} the attribute
 * has.
 *
 * <pre>
 *   csi.java.worker.UUID  →  signed address
 * </pre>
 *
 * <p>Ends with {@link #close}. Safe for several threads; does not block.
 */
public final class WorkerMark implements AutoCloseable {
  private static final String PREFIX = "csi.java.worker.";
  private static final Pattern NAME =
      Pattern.compile(Pattern.quote(PREFIX) + "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  /** The marks of this process: two drivers in it may use one connection. */
  private static final Set<String> AT_WORK = ConcurrentHashMap.newKeySet();

  /** Those that this process had last; it may have failed to remove one. */
  private static final Cache<String, Boolean> ENDED =
      Caffeine.newBuilder().maximumSize(10_000).build();

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

  /**
   * The attribute's value for an object.
   *
   * @throws IllegalStateException if the connection was given no key
   */
  public byte[] value(IoContext io, String object) {
    return SignedAddress.own(io, object, name)
        .orElseThrow(() -> new IllegalStateException("the connection has no key"))
        .getBytes(UTF_8);
  }

  /**
   * The address in a mark.
   *
   * @param name the attribute's name
   * @param value what is there
   * @return empty unless a client of the same user wrote it there
   */
  public static Optional<String> address(IoContext io, String object, String name, byte[] value) {
    return SignedAddress.proven(io, object, name, new String(value, UTF_8));
  }

  /** Whether a worker of this process has the mark, and has not ended. */
  public static boolean isAtWork(String name) {
    return AT_WORK.contains(name);
  }

  /** Whether a worker of this process had the mark, and has ended. */
  static boolean hasEnded(String name) {
    return ENDED.getIfPresent(name) != null;
  }

  @Override
  public void close() {
    ENDED.put(name, true); // before: whoever asks finds it in one of the two
    AT_WORK.remove(name);
  }
}
