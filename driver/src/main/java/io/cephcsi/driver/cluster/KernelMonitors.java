package io.cephcsi.driver.cluster;

import java.util.List;

/**
 * The monitors of a cluster as the kernel's clients take them: {@code host:port}, all of one
 * version of the protocol.
 *
 * @param addresses where they listen
 * @param messengerV2 whether there they speak version 2, which a client has to be told
 */
public record KernelMonitors(List<String> addresses, boolean messengerV2) {
  private static final int V1 = 1;
  private static final int V2 = 2;
  private static final int V1_PORT = 6789;
  private static final int V2_PORT = 3300;

  /** Copies the list. */
  public KernelMonitors {
    addresses = List.copyOf(addresses);
  }

  /**
   * Chooses among a cluster's addresses.
   *
   * @param messengerV2 whether version 2 is wanted; without a single address of the version that is
   *     wanted, the other is taken
   * @throws IllegalArgumentException saying what is not an address
   */
  public static KernelMonitors of(ClusterConfig cluster, boolean messengerV2) {
    List<MonitorAddress> all =
        cluster.monitors().stream().flatMap(text -> MonitorAddress.parse(text).stream()).toList();
    List<String> wanted = listening(all, messengerV2);
    return wanted.isEmpty()
        ? new KernelMonitors(listening(all, !messengerV2), !messengerV2)
        : new KernelMonitors(wanted, messengerV2);
  }

  private static List<String> listening(List<MonitorAddress> all, boolean messengerV2) {
    int other = messengerV2 ? V1 : V2;
    int usual = messengerV2 ? V2_PORT : V1_PORT;
    int unusual = messengerV2 ? V1_PORT : V2_PORT;
    return all.stream()
        .filter(address -> address.messenger() != other)
        .filter(address -> !(address.messenger() == 0 && address.ports().equals(List.of(unusual))))
        .map(address -> text(address, usual))
        .toList();
  }

  private static String text(MonitorAddress address, int usual) {
    int port = address.ports().contains(usual) ? usual : address.ports().get(0);
    String host = address.host();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
