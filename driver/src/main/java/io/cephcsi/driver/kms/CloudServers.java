package io.cephcsi.driver.kms;

import io.cephcsi.driver.http.Tls;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * How the servers of clouds are reached.
 *
 * @param instead an address instead of the usual ones, for tests
 * @param tls whom to trust
 */
record CloudServers(Optional<String> instead, SSLContext tls) {
  /** The usual ones, by the certificates of the system. */
  static CloudServers usual() {
    return new CloudServers(Optional.empty(), Tls.of(Optional.empty(), Optional.empty()));
  }

  /** The address of a server, without a slash at its end. */
  String address(String usual) {
    return instead.orElse(usual);
  }
}
