package io.cephcsi.driver.fence;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.MonitorQueries;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the cluster's maps say of addresses: who of its own daemons has which, and which are fenced.
 */
final class ClusterMaps {
  /** As in maps and blocklists, with port and nonce: {@code cidr:[fd00::1]:0/128}. */
  private static final Pattern ENTRY =
      Pattern.compile(
          "(?:(?:cidr|v1|v2|any):)?(?:\\[([0-9A-Fa-f:.]+)]|([0-9.]+)):[0-9]+(?:/([0-9]+))?");

  private static final String ALL_CLIENTS = ":0/0"; // no port, and no client's nonce

  private ClusterMaps() {}

  /**
   * A daemon's address.
   *
   * @param daemon such as {@code osd.3}
   * @param monitor whether it is a monitor
   */
  record DaemonAddress(String daemon, boolean monitor, InetAddress address) {}

  /** The ranges that are fenced, those of one address without a nonce among them; sorted. */
  static List<Cidr> fenced(JsonNode osdMap) {
    List<Cidr> ranges = new ArrayList<>();
    osdMap
        .path("range_blocklist")
        .fieldNames()
        .forEachRemaining(
            text -> {
              Matcher entry = ENTRY.matcher(text);
              if (entry.matches() && entry.group(3) != null) {
                addressOf(entry)
                    .ifPresent(
                        address -> ranges.add(new Cidr(address, Integer.parseInt(entry.group(3)))));
              }
            });
    hosts(osdMap).values().forEach(address -> ranges.add(Cidr.of(address)));
    return ranges.stream().distinct().toList();
  }

  /** The addresses all of whose clients are fenced other than as a range, by their entries. */
  static Map<String, InetAddress> hosts(JsonNode osdMap) {
    Map<String, InetAddress> hosts = new TreeMap<>();
    osdMap
        .path("blocklist")
        .fieldNames()
        .forEachRemaining(
            text -> {
              if (text.endsWith(ALL_CLIENTS)) {
                address(text).ifPresent(address -> hosts.put(text, address));
              }
            });
    return hosts;
  }

  /** The address in a text with port and nonce, such as {@code 10.0.0.5:0/123}. */
  static Optional<InetAddress> address(String text) {
    Matcher entry = ENTRY.matcher(text);
    return entry.matches() ? addressOf(entry) : Optional.empty();
  }

  private static Optional<InetAddress> addressOf(Matcher entry) {
    String bare = entry.group(1) == null ? entry.group(2) : entry.group(1);
    return bare == null ? Optional.empty() : Cidr.address(bare);
  }

  /** The map of OSDs, with the blocklist; one round trip. */
  static JsonNode osdMap(RadosCluster cluster) {
    return ask(cluster, "osd dump");
  }

  /**
   * All daemons that run: monitors, managers with their modules' clients, OSDs, MDSs, and services
   * such as those that mirror. Four round trips.
   *
   * @param osdMap see {@link #osdMap}
   */
  static List<DaemonAddress> daemons(RadosCluster cluster, JsonNode osdMap) {
    List<DaemonAddress> daemons = new ArrayList<>();
    for (JsonNode monitor : ask(cluster, "mon dump").path("mons")) {
      add(daemons, "mon." + monitor.path("name").asText(), true, monitor.path("public_addrs"));
    }
    for (JsonNode osd : osdMap.path("osds")) {
      if (osd.path("up").asInt() == 1) {
        String name = "osd." + osd.path("osd").asInt();
        add(daemons, name, false, osd.path("public_addrs"));
        add(daemons, name, false, osd.path("cluster_addrs"));
      }
    }
    managers(ask(cluster, "mgr dump"), daemons);
    metadataServers(ask(cluster, "fs dump"), daemons);
    services(ask(cluster, "service dump"), daemons);
    return daemons;
  }

  static void managers(JsonNode map, List<DaemonAddress> daemons) {
    add(daemons, "mgr." + map.path("active_name").asText(), false, map.path("active_addrs"));
    for (JsonNode client : map.path("active_clients")) {
      String name = client.path("name").asText("");
      add(daemons, "mgr module " + (name.isEmpty() ? "client" : name), false, client);
    }
  }

  static void metadataServers(JsonNode map, List<DaemonAddress> daemons) {
    List<JsonNode> all = new ArrayList<>();
    map.path("standbys").forEach(all::add);
    for (JsonNode fileSystem : map.path("filesystems")) {
      fileSystem.path("mdsmap").path("info").forEach(all::add);
    }
    for (JsonNode server : all) {
      add(daemons, "mds." + server.path("name").asText(), false, server.path("addrs"));
    }
  }

  static void services(JsonNode map, List<DaemonAddress> daemons) {
    for (Map.Entry<String, JsonNode> service : map.path("services").properties()) {
      for (Map.Entry<String, JsonNode> daemon : service.getValue().path("daemons").properties()) {
        address(daemon.getValue().path("addr").asText(""))
            .ifPresent(
                address ->
                    daemons.add(
                        new DaemonAddress(
                            service.getKey() + "." + daemon.getKey(), false, address)));
      }
    }
  }

  private static void add(
      List<DaemonAddress> daemons, String name, boolean monitor, JsonNode addresses) {
    for (JsonNode each : addresses.path("addrvec")) {
      address(each.path("addr").asText(""))
          .ifPresent(address -> daemons.add(new DaemonAddress(name, monitor, address)));
    }
  }

  private static JsonNode ask(RadosCluster cluster, String prefix) {
    return MonitorQueries.ask(cluster, prefix, Map.of());
  }
}
