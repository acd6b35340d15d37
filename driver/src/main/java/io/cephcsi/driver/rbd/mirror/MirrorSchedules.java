package io.cephcsi.driver.rbd.mirror;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.parameters.MirrorSchedule;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The schedule of an image: when the manager takes snapshots of it for mirroring. Those of pools
 * and namespaces are not touched. Blocks on the manager.
 */
final class MirrorSchedules {
  private static final Logger LOG = LoggerFactory.getLogger(MirrorSchedules.class);
  private static final String PREFIX = "rbd mirror snapshot schedule ";

  private final ManagerCommands manager;
  private final IoContext io;
  private final String image;

  /**
   * @param manager sends commands
   * @param io the image's pool
   * @param image the image's name
   */
  MirrorSchedules(ManagerCommands manager, IoContext io, String image) {
    this.manager = manager;
    this.io = io;
    this.image = new RbdPool(io).describe(image);
  }

  /**
   * Gives the image one schedule, in place of those that it has. One command if it has it already.
   *
   * @throws VolumeException UNAVAILABLE if the manager does not answer; UNAUTHENTICATED if the user
   *     may not ask it
   */
  void require(MirrorSchedule schedule) {
    try {
      List<MirrorSchedule> present = list();
      if (!present.contains(schedule)) {
        send("add", arguments(schedule)); // first: an interruption leaves too many, not none
        LOG.info("{}: snapshots for mirroring are taken {}", image, schedule);
      }
      for (MirrorSchedule other : present) {
        if (!other.equals(schedule)) {
          send("remove", arguments(other));
          LOG.info("{}: no snapshots for mirroring are taken {} any more", image, other);
        }
      }
    } catch (CephException.Denied e) {
      throw new VolumeException(
          Reason.UNAUTHENTICATED,
          "the user may not schedule snapshots; it needs mgr 'profile rbd'",
          e);
    }
  }

  private List<MirrorSchedule> list() {
    List<MirrorSchedule> schedules = new ArrayList<>();
    String json = send("list", Map.of());
    try {
      for (JsonNode level : Json.mapper().readTree(json)) {
        if (level.path("name").asText().equals(image)) {
          level.path("schedule").forEach(each -> schedules.add(decode(each)));
        }
      }
    } catch (JsonProcessingException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "the manager's list of schedules is not JSON", e);
    }
    return schedules;
  }

  private static MirrorSchedule decode(JsonNode schedule) {
    JsonNode start = schedule.path("start_time");
    return new MirrorSchedule(
        schedule.path("interval").asText(),
        start.isTextual() ? Optional.of(start.asText()) : Optional.empty());
  }

  private static Map<String, String> arguments(MirrorSchedule schedule) {
    Map<String, String> arguments = new LinkedHashMap<>();
    arguments.put("interval", schedule.interval());
    schedule.startTime().ifPresent(time -> arguments.put("start_time", time));
    return arguments;
  }

  private String send(String verb, Map<String, String> arguments) {
    Map<String, String> all = new LinkedHashMap<>(arguments);
    all.put("level_spec", image);
    return manager.send(io, CephCommand.of(PREFIX + verb, all)).text();
  }
}
