package io.cephcsi.driver.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Questions to the monitors as typed calls; each is one round trip. */
public final class MonitorQueries {
  private static final String SEVERE = "HEALTH_ERR";
  private static final Pattern RELEASE = Pattern.compile("^ceph version (\\d{1,4})\\.");
  private static final List<String> OF_DATA = List.of("OSD_", "POOL_", "PG_", "OBJECT_", "MON_");

  private MonitorQueries() {}

  /** All pools, by id. */
  public static List<PoolInfo> pools(RadosCluster cluster) {
    return decodePools(ask(cluster, "osd pool ls", Map.of("detail", "detail")));
  }

  static List<PoolInfo> decodePools(JsonNode answer) {
    List<PoolInfo> pools = new ArrayList<>();
    for (JsonNode pool : answer) {
      Set<String> applications = new HashSet<>();
      pool.path("application_metadata").fieldNames().forEachRemaining(applications::add);
      List<String> flags = List.of(pool.path("flags_names").asText("").split(",", -1));
      pools.add(
          new PoolInfo(
              pool.path("pool_id").asLong(),
              pool.path("pool_name").asText(),
              applications,
              !pool.path("erasure_code_profile").asText("").isEmpty(),
              flags.contains("full") || flags.contains("full_quota"),
              pool.path("quota_max_bytes").asLong(0)));
    }
    pools.sort(Comparator.comparingLong(PoolInfo::id));
    return pools;
  }

  /** The ids of pools of which OSDs still remove what deleted snapshots kept. */
  public static Set<Long> poolsThatForgetSnapshots(RadosCluster cluster) {
    return decodeForgetting(ask(cluster, "osd dump", Map.of()));
  }

  static Set<Long> decodeForgetting(JsonNode answer) {
    Set<Long> pools = new HashSet<>();
    for (String list : List.of("removed_snaps_queue", "new_removed_snaps")) {
      answer.path(list).forEach(of -> pools.add(of.path("pool").asLong()));
    }
    return pools;
  }

  /** All file systems that the user may see, by id. */
  public static List<FileSystemInfo> fileSystems(RadosCluster cluster) {
    return decodeFileSystems(ask(cluster, "fs dump", Map.of()));
  }

  static List<FileSystemInfo> decodeFileSystems(JsonNode answer) {
    List<FileSystemInfo> fileSystems = new ArrayList<>();
    for (JsonNode fileSystem : answer.path("filesystems")) {
      JsonNode map = fileSystem.path("mdsmap");
      List<Long> data = new ArrayList<>();
      map.path("data_pools").forEach(pool -> data.add(pool.asLong()));
      fileSystems.add(
          new FileSystemInfo(
              fileSystem.path("id").asLong(),
              map.path("fs_name").asText(),
              map.path("metadata_pool").asLong(),
              data));
    }
    fileSystems.sort(Comparator.comparingLong(FileSystemInfo::id));
    return fileSystems;
  }

  /** How many more bytes each pool can take, by name; a quota is respected. */
  public static Map<String, PoolSpace> space(RadosCluster cluster) {
    return decodeSpace(ask(cluster, "df", Map.of("detail", "detail")));
  }

  static Map<String, PoolSpace> decodeSpace(JsonNode answer) {
    Map<String, PoolSpace> space = new TreeMap<>();
    for (JsonNode pool : answer.path("pools")) {
      JsonNode stats = pool.path("stats");
      long available = stats.path("max_avail").asLong(0);
      long quota = stats.path("quota_bytes").asLong(0);
      if (quota > 0) {
        available = Math.min(available, Math.max(0, quota - stored(stats)));
      }
      space.put(pool.path("name").asText(), new PoolSpace(available, quota));
    }
    return space;
  }

  private static long stored(JsonNode stats) {
    return stats.path("stored").asLong(stats.path("bytes_used").asLong(0));
  }

  /**
   * What endangers data now.
   *
   * @return the checks of severity error that concern pools, OSDs and placement groups; empty when
   *     there are none
   */
  public static Optional<String> dangers(RadosCluster cluster) {
    return decodeDangers(ask(cluster, "health", Map.of()));
  }

  static Optional<String> decodeDangers(JsonNode answer) {
    List<String> dangers = new ArrayList<>();
    answer
        .path("checks")
        .properties()
        .forEach(
            check -> {
              if (SEVERE.equals(check.getValue().path("severity").asText())
                  && OF_DATA.stream().anyMatch(check.getKey()::startsWith)) {
                dangers.add(
                    check.getKey()
                        + ": "
                        + check.getValue().path("summary").path("message").asText());
              }
            });
    return dangers.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", dangers));
  }

  /**
   * What an OSD allocates at once, in bytes: BlueStore's {@code min_alloc_size}. The primary OSD
   * that an object belongs to is asked for; those of a pool are alike, as a rule. Two round trips.
   *
   * @param object any name of an object in the pool; it need not exist
   * @return empty when no OSD serves it now, or its store does not say
   */
  public static OptionalLong allocationUnit(RadosCluster cluster, String pool, String object) {
    JsonNode map = ask(cluster, "osd map", Map.of("pool", pool, "object", object));
    int primary = map.path("acting_primary").asInt(-1);
    if (primary < 0) {
      return OptionalLong.empty();
    }
    return decodeAllocationUnit(
        ask(cluster, "osd metadata", Map.of("id", Integer.toString(primary))));
  }

  static OptionalLong decodeAllocationUnit(JsonNode metadata) {
    long unit = metadata.path("bluestore_min_alloc_size").asLong(0);
    return unit > 0 ? OptionalLong.of(unit) : OptionalLong.empty();
  }

  /**
   * The oldest release that daemons of some types run, such as 18.
   *
   * @param types such as {@code mds}
   * @return empty if there are none, or one does not say
   */
  public static OptionalInt oldestRelease(RadosCluster cluster, Set<String> types) {
    return decodeOldestRelease(ask(cluster, "versions", Map.of()), types);
  }

  static OptionalInt decodeOldestRelease(JsonNode answer, Set<String> types) {
    int oldest = Integer.MAX_VALUE;
    for (String type : types) {
      List<String> versions = new ArrayList<>();
      answer.path(type).fieldNames().forEachRemaining(versions::add);
      for (String version : versions) {
        Matcher matcher = RELEASE.matcher(version);
        if (!matcher.find()) {
          return OptionalInt.empty();
        }
        oldest = Math.min(oldest, Integer.parseInt(matcher.group(1)));
      }
      if (versions.isEmpty()) {
        return OptionalInt.empty();
      }
    }
    return types.isEmpty() ? OptionalInt.empty() : OptionalInt.of(oldest);
  }

  /**
   * Asks for what no typed call gives.
   *
   * @param prefix of the command, such as {@code osd dump}
   * @param more its other arguments
   * @throws VolumeException UNAVAILABLE when the answer is not JSON
   */
  public static JsonNode ask(RadosCluster cluster, String prefix, Map<String, String> more) {
    try {
      return Json.mapper().readTree(CephCommand.of(prefix, more).toMonitors(cluster).text());
    } catch (JsonProcessingException e) {
      throw new VolumeException(
          VolumeException.Reason.UNAVAILABLE,
          "the monitor's answer to \"" + prefix + "\" is not JSON",
          e);
    }
  }

  /**
   * What a pool can take.
   *
   * @param available how many more bytes of user data
   * @param quota how many it may hold in all; 0 without a quota
   */
  public record PoolSpace(long available, long quota) {}
}
