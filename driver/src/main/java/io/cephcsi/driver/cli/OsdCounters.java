package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What OSDs count of their own work, summed up over them: the times of {@code ceph tell osd.N perf
 * dump}. Immutable.
 *
 * @param times by section and name, such as {@code osd.op_w_latency}
 * @param missing why there is nothing of some OSDs; empty if all were asked
 */
record OsdCounters(Map<String, OsdCounters.Time> times, String missing) {
  /** How many OSDs are asked: one answer has some 50 kB. */
  private static final int MOST_OSDS = 100;

  private static final int SHOWN = 12;

  /** What bluestore does after it has answered: nobody waits for that. */
  private static final Pattern BEHIND = Pattern.compile("state_(deferred_.*|done_lat)");

  /** Nothing, of no OSD. */
  static final OsdCounters NONE = new OsdCounters(Map.of(), "");

  /**
   * How often something was done, and how long that took.
   *
   * @param seconds of all
   */
  record Time(long count, double seconds) {
    Time plus(Time other) {
      return new Time(count + other.count, seconds + other.seconds);
    }

    /** The mean in milliseconds; 0 if it was never done. */
    double meanMillis() {
      return count == 0 ? 0 : 1e3 * seconds / count;
    }
  }

  /**
   * Asks the OSDs of a cluster. Blocks on each of them; those that do not answer, or refuse, are
   * named by {@link #missing()}.
   */
  static OsdCounters of(RadosCluster cluster) {
    Map<String, Time> times = new TreeMap<>();
    String missing = "";
    try {
      List<Integer> osds = osds(cluster);
      if (osds.size() > MOST_OSDS) {
        missing = "only " + MOST_OSDS + " of " + osds.size() + " OSDs were asked";
      }
      for (int osd : osds.subList(0, Math.min(osds.size(), MOST_OSDS))) {
        try {
          CommandReply reply = CephCommand.of("perf dump", Map.of()).toOsd(cluster, osd);
          add(times, Json.mapper().readTree(reply.output()));
        } catch (CephException | IOException e) {
          missing = "osd." + osd + " did not tell its counters: " + e.getMessage();
          if (e instanceof CephException.Denied) {
            break; // so would the others
          }
        }
      }
    } catch (CephException | IOException e) {
      missing = "the OSDs cannot be listed: " + e.getMessage();
    }
    return new OsdCounters(times, missing);
  }

  private static List<Integer> osds(RadosCluster cluster) throws IOException {
    List<Integer> osds = new ArrayList<>();
    JsonNode ids =
        Json.mapper().readTree(CephCommand.of("osd ls", Map.of()).toMonitors(cluster).output());
    ids.forEach(id -> osds.add(id.asInt()));
    return osds;
  }

  /** Adds what an OSD says. Other daemons' libraries count times as well: those are left out. */
  static void add(Map<String, Time> times, JsonNode dump) {
    dump.properties()
        .forEach(
            section -> {
              if (section.getKey().equals("osd") || section.getKey().startsWith("bluestore")) {
                section
                    .getValue()
                    .properties()
                    .forEach(
                        one -> {
                          JsonNode value = one.getValue();
                          if (value.has("avgtime")
                              && value.path("sum").isNumber()
                              && !BEHIND.matcher(one.getKey()).matches()) {
                            times.merge(
                                section.getKey() + "." + one.getKey(),
                                new Time(
                                    value.path("avgcount").asLong(), value.path("sum").asDouble()),
                                Time::plus);
                          }
                        });
              }
            });
  }

  /** What was added since, of the longest times only, the longest first. */
  Map<String, Time> since(OsdCounters before) {
    Map<String, Time> added = new LinkedHashMap<>();
    times.forEach(
        (name, time) -> {
          Time was = before.times.getOrDefault(name, new Time(0, 0));
          if (time.count > was.count && time.seconds >= was.seconds) {
            added.put(name, new Time(time.count - was.count, time.seconds - was.seconds));
          }
        });
    Map<String, Time> longest = new LinkedHashMap<>();
    added.entrySet().stream()
        .sorted(
            Comparator.comparingDouble((Map.Entry<String, Time> one) -> one.getValue().seconds())
                .reversed()
                .thenComparing(Map.Entry::getKey))
        .limit(SHOWN)
        .forEach(one -> longest.put(one.getKey(), one.getValue()));
    return longest;
  }
}
