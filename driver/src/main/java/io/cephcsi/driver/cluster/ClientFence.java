package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ClientAddress;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * Has a cluster refuse what one client still sends. The only place that blocklists single clients:
 * an address that is not that of one client is refused here. Safe for several threads; blocks on
 * the monitors.
 */
public final class ClientFence {
  // Daemons have a port, and a nonce of 0 stands for all clients of a host.
  private static final Pattern ONE_CLIENT =
      Pattern.compile(
          "(?:(?:v1|v2|any):)?(?:[0-9]{1,3}(?:\\.[0-9]{1,3}){3}|\\[[0-9a-fA-F:.]{2,45}])"
              + ":0/[1-9][0-9]{0,9}");

  /** For a client that may only be stopped: longer than anything stays so and then goes on. */
  public static final Duration LONGER_THAN_STOPPED = Duration.ofDays(30);

  // No address, so that nothing comes of it; but of the form that "profile rbd" allows.
  private static final CephCommand PROBE =
      CephCommand.of("osd blocklist", Map.of("blocklistop", "add", "addr", "none/0"));

  /** Those that this process has shut out; an address with a nonce is not used again. */
  private static final Set<String> SHUT_OUT = ConcurrentHashMap.newKeySet();

  private final RadosCluster cluster;

  /** Blocklists as the user of a connection. */
  public ClientFence(RadosCluster cluster) {
    this.cluster = cluster;
  }

  /** Whether a text is the address of one client. */
  public static boolean isClient(String address) {
    return ONE_CLIENT.matcher(address).matches();
  }

  /**
   * Whether the user may blocklist. Changes nothing: the monitors look at the permission before
   * they look at the address, which is none. One round trip.
   */
  public boolean isAllowed() {
    try {
      PROBE.toMonitors(cluster);
      return true;
    } catch (CephException.Denied e) {
      return false;
    } catch (CephException e) {
      if (e.errno() == Errno.EINVAL) {
        return true;
      }
      throw e;
    }
  }

  /**
   * Shuts a client out; waits for the map that says so.
   *
   * @param address with a nonce, such as {@code 10.0.0.5:0/123}
   * @param expires after how long it is lifted
   * @throws IllegalArgumentException if it is not the address of one client
   * @throws CephException.Denied if the user may not blocklist
   */
  public void blocklist(String address, Duration expires) {
    if (!isClient(address)) {
      throw new IllegalArgumentException("not the address of one client: " + address);
    }
    cluster.blocklist(address, expires);
    SHUT_OUT.add(ClientAddress.bare(address));
  }

  /** Whether this process has shut a client out: it can do nothing any more. Does not block. */
  public static boolean isShutOut(String address) {
    return SHUT_OUT.contains(ClientAddress.bare(address));
  }

  /** Whether this process has shut any client out. Does not block. */
  public static boolean hasShutOut() {
    return !SHUT_OUT.isEmpty();
  }
}
