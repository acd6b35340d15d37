package io.cephcsi.driver.fence;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.NodeConfig;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.fence.ClusterMaps.DaemonAddress;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fences ranges of addresses: the OSDs and metadata servers refuse all clients there. Safe for
 * several threads; callers take a lock for each cluster. Blocks on the monitors.
 */
public final class NetworkFence {
  private static final Logger LOG = LoggerFactory.getLogger(NetworkFence.class);

  /** Five years, as ceph-csi: a blocklist has no entry without an end. */
  private static final double EXPIRES_SECONDS = 157_784_760;

  private static final int SHORTEST_PREFIX_IP4 = 16;
  private static final int SHORTEST_PREFIX_IP6 = 48;

  private final ClusterDirectory clusters;
  private final ConnectionPool connections;

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   */
  public NetworkFence(ClusterDirectory clusters, ConnectionPool connections) {
    this.clusters = clusters;
    this.connections = connections;
  }

  /**
   * This machine, as a cluster knows it.
   *
   * @param fsid the cluster's id
   * @param address of this client; a range of one address
   */
  public record FenceClient(String fsid, Cidr address) {}

  /**
   * Fences ranges, one after the other; a range that is fenced gets a new expiry. All are checked
   * before the first is fenced. Returns when the map that says so is there.
   *
   * @param allowDaemons whether a range may have addresses of daemons other than monitors
   * @throws VolumeException INVALID_ARGUMENT when a range is too large or the cluster not
   *     configured; FAILED_PRECONDITION when a range has the driver's own address, a monitor's, or
   *     (without allowDaemons) another daemon's
   */
  public void fence(String clusterId, List<Cidr> ranges, boolean allowDaemons, Credentials user) {
    ranges.forEach(NetworkFence::requireSmall);
    connected(
        clusterId,
        user,
        cluster -> {
          InetAddress own = ownAddress(cluster);
          for (Cidr range : ranges) {
            if (range.contains(own)) {
              throw refused(range, "it has this driver's own address " + own.getHostAddress());
            }
          }
          List<DaemonAddress> daemons =
              ClusterMaps.daemons(cluster, ClusterMaps.osdMap(cluster)).stream()
                  .filter(daemon -> daemon.monitor() || !allowDaemons)
                  .toList();
          ranges.forEach(range -> requireWithout(daemons, range));
          each(cluster, ranges("add", ranges).toList());
          LOG.info("cluster {}: fenced {}", clusterId, ranges);
          return Optional.empty();
        });
  }

  /**
   * Lifts fences, one after the other; a range that is not fenced is a success, unless all of it is
   * in a larger one that is.
   *
   * @throws VolumeException INVALID_ARGUMENT when the cluster is not configured;
   *     FAILED_PRECONDITION when a range stays fenced, because a larger one is
   */
  public void unfence(String clusterId, List<Cidr> ranges, Credentials user) {
    connected(
        clusterId,
        user,
        cluster -> {
          JsonNode map = ClusterMaps.osdMap(cluster);
          List<Cidr> fenced = ClusterMaps.fenced(map);
          for (Cidr range : ranges) {
            List<Cidr> around =
                fenced.stream()
                    .filter(other -> other.contains(range) && !other.equals(range))
                    .toList();
            if (!fenced.contains(range) && !around.isEmpty()) {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  range + " is fenced as a part of " + around + ": unfence that");
            }
            if (!around.isEmpty()) {
              LOG.warn("cluster {}: {} stays fenced as a part of {}", clusterId, range, around);
            }
          }
          each(cluster, Stream.concat(hosts(map, ranges), ranges("rm", ranges)).toList());
          LOG.info("cluster {}: unfenced {}", clusterId, ranges);
          return Optional.empty();
        });
  }

  /**
   * All ranges that are fenced, whoever did it; single clients that are blocklisted are none.
   *
   * @throws VolumeException INVALID_ARGUMENT when the cluster is not configured
   */
  public List<Cidr> list(String clusterId, Credentials user) {
    return connected(clusterId, user, cluster -> ClusterMaps.fenced(ClusterMaps.osdMap(cluster)));
  }

  /**
   * This machine as the cluster knows it: what to fence to keep it away.
   *
   * @param storage whose volumes are attached or mounted here; empty where none are
   * @throws VolumeException INVALID_ARGUMENT when the cluster is not configured;
   *     FAILED_PRECONDITION when those volumes are in another network namespace, whose address this
   *     process does not have
   */
  public FenceClient client(String clusterId, Credentials user, Optional<Storage> storage) {
    NodeConfig node = clusters.require(clusterId).node();
    storage
        .map(
            kind ->
                switch (kind) {
                  case RBD -> node.rbdNetwork();
                  case CEPHFS -> node.cephFsNetwork();
                })
        .filter(network -> !network.isEmpty())
        .ifPresent(
            network -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "the volumes of this node are in the network namespace "
                      + network
                      + " (netNamespaceFilePath): fence the node's addresses in that network");
            });
    return connected(
        clusterId, user, cluster -> new FenceClient(cluster.fsid(), Cidr.of(ownAddress(cluster))));
  }

  private <T> T connected(String clusterId, Credentials user, Function<RadosCluster, T> work) {
    ClusterConfig config = clusters.require(clusterId);
    return connections.connected(config, user, (Lease lease) -> work.apply(lease.cluster()));
  }

  private static void requireSmall(Cidr range) {
    int shortest = range.isIp4() ? SHORTEST_PREFIX_IP4 : SHORTEST_PREFIX_IP6;
    if (range.prefix() < shortest) {
      throw VolumeException.invalid(
          "cidrs: " + range + " is too large: a prefix has at least " + shortest + " bits");
    }
  }

  private static void requireWithout(List<DaemonAddress> daemons, Cidr range) {
    List<String> inside =
        daemons.stream()
            .filter(daemon -> range.contains(daemon.address()))
            .map(daemon -> daemon.daemon() + " (" + daemon.address().getHostAddress() + ")")
            .distinct()
            .limit(5)
            .toList();
    if (!inside.isEmpty()) {
      throw refused(range, "it has addresses of the cluster's daemons: " + inside);
    }
  }

  private static VolumeException refused(Cidr range, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, range + " is not fenced: " + why + "; nothing is changed");
  }

  private static InetAddress ownAddress(RadosCluster cluster) {
    return ClusterMaps.address(cluster.addresses())
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "the cluster does not say by which address it knows this driver"));
  }

  private record Change(String what, CephCommand command) {}

  private static void each(RadosCluster cluster, List<Change> changes) {
    List<String> done = new ArrayList<>();
    for (Change change : changes) {
      try {
        change.command().toMonitors(cluster);
        done.add(change.what());
      } catch (CephException.Denied e) {
        throw new VolumeException(
            Reason.UNAUTHENTICATED,
            "the user may not blocklist ranges; it needs mon 'allow command \"osd blocklist\"'",
            e);
      } catch (CephException e) {
        throw new VolumeException(
            Reason.UNAVAILABLE,
            "osd blocklist "
                + change.what()
                + " failed"
                + (done.isEmpty() ? "" : " after " + done)
                + ": "
                + e.getMessage(),
            e);
      }
    }
    cluster.awaitLatestOsdMap();
  }

  private static Stream<Change> ranges(String change, List<Cidr> ranges) {
    return ranges.stream().map(range -> range(change, range));
  }

  private static Change range(String change, Cidr range) {
    Map<String, Object> arguments = new LinkedHashMap<>();
    arguments.put("blocklistop", change);
    arguments.put("range", "range");
    arguments.put("addr", range.toString());
    if (change.equals("add")) {
      arguments.put("expire", EXPIRES_SECONDS);
    }
    return new Change("range " + change + " " + range, CephCommand.of("osd blocklist", arguments));
  }

  /** Those single addresses among the ranges that are fenced, but not as a range. */
  private static Stream<Change> hosts(JsonNode map, List<Cidr> ranges) {
    return ClusterMaps.hosts(map).entrySet().stream()
        .filter(host -> ranges.contains(Cidr.of(host.getValue())))
        .map(Map.Entry::getKey)
        .map(
            entry ->
                new Change(
                    "rm " + entry,
                    CephCommand.of("osd blocklist", Map.of("blocklistop", "rm", "addr", entry))));
  }
}
