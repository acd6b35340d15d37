package io.cephcsi.driver.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a monitor listens, as {@code mon_host} and ceph-csi's {@code config.json} write it:
 *
 * <pre>
 *   host   host:6789   10.0.0.1:3300/0   v2:10.0.0.1:3300   [::1]   [::1]:6789
 *   [v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0]     several, between commas, semicolons or blanks
 * </pre>
 *
 * @param host a name or an address, without brackets
 * @param ports where it may listen: the one that is given, or the usual two
 * @param messenger the version of the protocol there, 1 or 2; 0 when it is not said
 */
record MonitorAddress(String host, List<Integer> ports, int messenger) {
  private static final List<Integer> USUAL = List.of(3300, 6789);
  private static final int MAX_PORT = 65535;
  private static final Pattern PART =
      Pattern.compile("\\[(?:v[12]|any):[^\\[\\]]*(?:\\[[^\\]]*][^\\[\\]]*)*]|[^,;\\s]+");
  private static final Pattern ADDRESS =
      Pattern.compile(
          "(?:(?:v([12])|any):)?"
              + "(?:\\[([0-9A-Fa-f:.]+)]|([A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9.])?))"
              + "(?::(\\d{1,5}))?(?:/\\d+)?");
  private static final Pattern BARE_IP6 = Pattern.compile("[0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,}");

  /** Copies the ports. */
  MonitorAddress {
    ports = List.copyOf(ports);
  }

  /**
   * Reads one entry of a cluster's list of monitors.
   *
   * @return at least one address
   * @throws IllegalArgumentException saying what is not an address
   */
  static List<MonitorAddress> parse(String monitor) {
    List<MonitorAddress> addresses = new ArrayList<>();
    Matcher parts = PART.matcher(monitor);
    while (parts.find()) {
      String part = parts.group();
      if (part.matches("\\[(v[12]|any):.*")) {
        for (String one : part.substring(1, part.length() - 1).split(",", -1)) {
          addresses.add(single(one));
        }
      } else {
        addresses.add(single(part));
      }
    }
    if (addresses.isEmpty()) {
      throw new IllegalArgumentException("\"" + monitor + "\" names no monitor");
    }
    return addresses;
  }

  private static MonitorAddress single(String text) {
    if (BARE_IP6.matcher(text).matches()) {
      return new MonitorAddress(text, USUAL, 0);
    }
    Matcher address = ADDRESS.matcher(text);
    if (!address.matches()) {
      throw new IllegalArgumentException("\"" + text + "\" is not the address of a monitor");
    }
    int messenger = address.group(1) == null ? 0 : Integer.parseInt(address.group(1));
    String host = address.group(2) == null ? address.group(3) : address.group(2);
    if (address.group(4) == null) {
      return new MonitorAddress(host, USUAL, messenger);
    }
    int port = Integer.parseInt(address.group(4));
    if (port < 1 || port > MAX_PORT) {
      throw new IllegalArgumentException("\"" + text + "\" has the port " + port);
    }
    return new MonitorAddress(host, List.of(port), messenger);
  }
}
