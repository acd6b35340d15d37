package io.cephcsi.bindings.rados;

import java.util.regex.Pattern;

/** Addresses of clients as Ceph tells them, such as {@code v1:10.0.0.5:0/123}. Pure. */
public final class ClientAddress {
  private static final Pattern PROTOCOL = Pattern.compile("^(?:v1|v2|any):");

  private ClientAddress() {}

  /** An address without the protocol, which not every client has in its own: to compare two. */
  public static String bare(String address) {
    return PROTOCOL.matcher(address).replaceFirst("");
  }
}
