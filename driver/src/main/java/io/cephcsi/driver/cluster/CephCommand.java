package io.cephcsi.driver.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A command to the monitors, the manager or an OSD, whose arguments were checked: the manager hands
 * names to C, where a NUL ends them, and takes the subvolume without a name for the whole group.
 * The only way to send one. Immutable.
 */
public final class CephCommand {
  private static final String NAMES_END = "_name";
  private static final String SUBVOLUMES = "members";
  private static final String FILE_SYSTEM = "vol_name";

  private final String json;
  private final Optional<String> fileSystem;
  private final boolean urgent;

  private CephCommand(String json, Optional<String> fileSystem, boolean urgent) {
    this.json = json;
    this.fileSystem = fileSystem;
    this.urgent = urgent;
  }

  /**
   * A command that answers in JSON.
   *
   * @param prefix which, such as {@code fs subvolume info}
   * @param arguments texts, numbers, booleans and lists of them; a key that ends in {@code _name}
   *     has a name
   * @throws VolumeException FAILED_PRECONDITION when a text is empty or not plain, or a name cannot
   *     be one: it is from a damaged journal or configuration, as requests are checked before
   */
  public static CephCommand of(String prefix, Map<String, ?> arguments) {
    arguments.forEach((key, value) -> check(prefix, key, value));
    Map<String, Object> command = new LinkedHashMap<>();
    command.put("prefix", prefix);
    command.put("format", "json");
    command.putAll(arguments);
    try {
      return new CephCommand(
          Json.mapper().writeValueAsString(command),
          Optional.ofNullable(arguments.get(FILE_SYSTEM)).map(Object::toString),
          false);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of strings is always JSON", e);
    }
  }

  private static void check(String prefix, String key, Object value) {
    if (value instanceof Collection<?> values) {
      values.forEach(each -> check(prefix, key, each));
    } else if (value instanceof String text) {
      try {
        if (key.endsWith(NAMES_END) || key.equals(SUBVOLUMES)) {
          CheckedName.ofExisting(key, text);
        } else if (PlainText.require(key, text).isBlank()) {
          throw VolumeException.invalid(key + " must not be empty");
        }
      } catch (VolumeException e) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION, "no \"" + prefix + "\": " + e.getMessage(), e);
      }
    }
  }

  /**
   * Sends it to the manager; see {@link RadosCluster#mgrCommand}.
   *
   * @throws io.cephcsi.bindings.error.CephException with the status line that the manager sent
   */
  public CommandReply toManager(RadosCluster cluster) {
    return cluster.mgrCommand(json);
  }

  /**
   * As {@link #toManager(RadosCluster)}, and waits for a time only; see {@link
   * RadosCluster#mgrCommand(String, Duration)}.
   *
   * @throws io.cephcsi.bindings.error.CephException.TimedOut after that time
   */
  public CommandReply toManager(RadosCluster cluster, Duration patience) {
    return cluster.mgrCommand(json, patience);
  }

  /**
   * Sends it to the monitors; see {@link RadosCluster#monCommand}.
   *
   * @throws io.cephcsi.bindings.error.CephException with the status line that the monitor sent
   */
  public CommandReply toMonitors(RadosCluster cluster) {
    return cluster.monCommand(json);
  }

  /**
   * Sends it to an OSD; see {@link RadosCluster#osdCommand}.
   *
   * @param osd its number
   * @throws io.cephcsi.bindings.error.CephException with the status line that the OSD sent
   */
  public CommandReply toOsd(RadosCluster cluster, int osd) {
    return cluster.osdCommand(osd, json);
  }

  /**
   * The file system that the manager works on, by its client of that: each command that names one
   * does so, and no other.
   */
  Optional<String> fileSystem() {
    return fileSystem;
  }

  /**
   * The same command, to be sent also while the manager's client of its file system is blocklisted,
   * as the manager asks nothing by that client for it.
   */
  public CephCommand urgent() {
    return new CephCommand(json, fileSystem, true);
  }

  /** Whether it is {@link #urgent}. */
  public boolean isUrgent() {
    return urgent;
  }

  /** The command as JSON. */
  @Override
  public String toString() {
    return json;
  }
}
