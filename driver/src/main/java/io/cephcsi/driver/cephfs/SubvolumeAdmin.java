package io.cephcsi.driver.cephfs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The manager's commands on the subvolumes of one group of a file system ({@code ceph fs
 * subvolume}), as typed calls for Ceph 16 to 20: fields of answers that are not known are ignored,
 * and whatever is already as it should be is no error.
 *
 * <p>The manager does one command after the other, in 3 to 10 ms each when it is idle; no timeout
 * applies. Safe for several threads.
 */
final class SubvolumeAdmin {
  /** Permissions of a new subvolume: what is in it decides for itself. */
  private static final String MODE = "777";

  private static final int RESIZES = 3;
  private static final String NAME = "sub_name";
  private static final String SNAPSHOT = "snap_name";

  private final ManagerCommands manager;
  private final String fileSystem;
  private final String group;

  SubvolumeAdmin(ManagerCommands manager, String fileSystem, String group) {
    this.manager = manager;
    this.fileSystem = fileSystem;
    this.group = group;
  }

  /** Makes the group, unless it is there ({@code fs subvolumegroup create}). */
  void createGroup() {
    send("fs subvolumegroup create", Map.of("group_name", group));
  }

  /** The names of all subvolumes of the group ({@code fs subvolume ls}). */
  List<String> list() {
    List<String> names = new ArrayList<>();
    parse("fs subvolume ls", send("fs subvolume ls", inGroup(Map.of())))
        .forEach(subvolume -> names.add(subvolume.path("name").asText()));
    return names;
  }

  /**
   * Makes a subvolume, and the group when it is not there ({@code fs subvolume create}). One that
   * is there gets the quota: look first.
   *
   * @param bytes its quota
   * @param pool the pool of its files; empty for the file system's default
   * @throws VolumeException INVALID_ARGUMENT when it is no data pool of the file system
   */
  void create(String name, long bytes, Optional<String> pool) {
    Map<String, Object> more = new LinkedHashMap<>();
    more.put(NAME, name);
    more.put("size", bytes);
    more.put("mode", MODE);
    pool.ifPresent(layout -> more.put("pool_layout", layout));
    try {
      createInGroup(inGroup(more));
    } catch (CephException e) {
      requireDataPool(e, pool);
      throw e;
    }
  }

  private void createInGroup(Map<String, Object> subvolume) {
    try {
      send("fs subvolume create", subvolume);
    } catch (CephException.NotFound e) {
      createGroup();
      send("fs subvolume create", subvolume);
    }
  }

  private void requireDataPool(CephException e, Optional<String> pool) {
    if (pool.isPresent()
        && e.errno() == Errno.EINVAL
        && String.valueOf(e.getMessage()).contains("pool layout")) {
      throw VolumeException.invalid(
          "parameters: pool \"" + pool.get() + "\" is no data pool of file system " + fileSystem);
    }
  }

  /**
   * What is known of a subvolume ({@code fs subvolume info}).
   *
   * @return empty if there is none
   * @throws CephException with EAGAIN while it is being cloned, or its clone failed
   */
  Optional<SubvolumeInfo> info(String name) {
    return ask("fs subvolume info", inGroup(Map.of(NAME, name))).map(SubvolumeInfo::decode);
  }

  /**
   * The path of a subvolume's data ({@code fs subvolume getpath}).
   *
   * @return empty if there is none, or only its snapshots are left
   */
  Optional<String> path(String name) {
    try {
      return Optional.of(send("fs subvolume getpath", inGroup(Map.of(NAME, name))).strip());
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * Grows a subvolume ({@code fs subvolume resize}). The manager only refuses a quota that is below
   * what is used: a smaller one that another program sets at the same time is replaced.
   *
   * @return what is known of it afterwards; empty if there is none any more
   * @throws VolumeException ABORTED if others make it smaller all the time
   */
  Optional<SubvolumeInfo> grow(String name, long bytes) {
    for (int i = 0; i < RESIZES; i++) {
      send(
          "fs subvolume resize",
          inGroup(Map.of(NAME, name, "new_size", Long.toString(bytes), "no_shrink", true)));
      Optional<SubvolumeInfo> info = info(name);
      if (info.isEmpty() || info.get().quota() >= bytes) {
        return info;
      }
    }
    throw new VolumeException(
        VolumeException.Reason.ABORTED, "another client resizes subvolume " + name + "; try again");
  }

  /**
   * Says which metadata servers serve a subvolume ({@code fs subvolume pin}).
   *
   * @param type {@code export}, {@code distributed} or {@code random}
   * @throws VolumeException FAILED_PRECONDITION if the metadata servers refuse the setting
   * @throws CephException.NotFound if there is no such subvolume
   */
  void pin(String name, String type, String setting) {
    try {
      send(
          "fs subvolume pin",
          inGroup(Map.of(NAME, name, "pin_type", type, "pin_setting", setting)));
    } catch (CephException e) {
      if (e.errno() != Errno.EDOM && e.errno() != Errno.EINVAL) {
        throw e;
      }
      throw new VolumeException(
          VolumeException.Reason.FAILED_PRECONDITION,
          "the metadata servers refuse the pin "
              + type
              + " "
              + setting
              + " (that of random pins is bounded by mds_export_ephemeral_random_max): "
              + e.getMessage(),
          e);
    }
  }

  /**
   * Removes a subvolume, but not its snapshots: as long as there are some, it is kept for them
   * ({@code fs subvolume rm}). One that does not exist is removed already.
   *
   * @throws CephException with EAGAIN while it is being cloned or after that failed; with ENOTEMPTY
   *     if it has snapshots and is of a kind that cannot keep them
   */
  void remove(String name) {
    try {
      ask("fs subvolume rm", inGroup(Map.of(NAME, name, "retain_snapshots", true)));
    } catch (CephException e) {
      if (e.errno() != Errno.EOPNOTSUPP && e.errno() != Errno.EINVAL) {
        throw e;
      }
      ask("fs subvolume rm", inGroup(Map.of(NAME, name))); // from before snapshots were retained
    }
  }

  /** Removes what is left of a clone that failed or was cancelled. */
  void removeFailedClone(String name) {
    ask("fs subvolume rm", inGroup(Map.of(NAME, name, "force", true)));
  }

  /**
   * Takes a snapshot, unless it is there ({@code fs subvolume snapshot create}).
   *
   * @throws CephException.NotFound if there is no such subvolume
   */
  void createSnapshot(String name, String snapshot) {
    try {
      send("fs subvolume snapshot create", inGroup(Map.of(NAME, name, SNAPSHOT, snapshot)));
    } catch (CephException.AlreadyExists e) {
      // some releases say so, others do not
    }
  }

  /**
   * What is known of a snapshot ({@code fs subvolume snapshot info}).
   *
   * @return empty if there is no such snapshot, or no such subvolume
   */
  Optional<SnapshotInfo> snapshotInfo(String name, String snapshot) {
    return ask("fs subvolume snapshot info", inGroup(Map.of(NAME, name, SNAPSHOT, snapshot)))
        .map(SnapshotInfo::decode);
  }

  /**
   * Removes a snapshot, and with the last one what was kept of a removed subvolume ({@code fs
   * subvolume snapshot rm}). One that does not exist is removed already.
   *
   * @throws CephException with EAGAIN while it is being cloned
   */
  void removeSnapshot(String name, String snapshot) {
    ask("fs subvolume snapshot rm", inGroup(Map.of(NAME, name, SNAPSHOT, snapshot, "force", true)));
  }

  /**
   * Has a snapshot cloned to a new subvolume ({@code fs subvolume snapshot clone}); see {@link
   * #cloneStatus} for how far it is.
   *
   * @param pool the pool of its files; empty for the file system's default
   * @throws CephException.NotFound if there is no such snapshot
   * @throws CephException.AlreadyExists if there is a subvolume of that name
   * @throws VolumeException INVALID_ARGUMENT when it is no data pool of the file system
   */
  void clone(String name, String snapshot, String target, Optional<String> pool) {
    Map<String, Object> more = new LinkedHashMap<>();
    more.put(NAME, name);
    more.put(SNAPSHOT, snapshot);
    more.put("target_sub_name", target);
    more.put("target_group_name", group);
    pool.ifPresent(layout -> more.put("pool_layout", layout));
    try {
      send("fs subvolume snapshot clone", inGroup(more));
    } catch (CephException e) {
      requireDataPool(e, pool);
      throw e;
    }
  }

  /**
   * How far a clone is ({@code fs clone status}).
   *
   * @return empty if there is no such subvolume; one that is no clone is complete
   */
  Optional<CloneStatus> cloneStatus(String name) {
    try {
      return ask("fs clone status", inGroup(Map.of("clone_name", name))).map(CloneStatus::decode);
    } catch (CephException e) {
      if (e.errno() == Errno.EOPNOTSUPP) {
        return Optional.of(CloneStatus.COMPLETE);
      }
      throw e;
    }
  }

  /**
   * Whether a subvolume was made as a clone, or is being made so ({@code fs clone status}).
   *
   * @return empty if there is no such subvolume
   */
  Optional<Boolean> isClone(String name) {
    try {
      return ask("fs clone status", inGroup(Map.of("clone_name", name))).map(answer -> true);
    } catch (CephException e) {
      if (e.errno() == Errno.EOPNOTSUPP) {
        return Optional.of(false);
      }
      throw e;
    }
  }

  /** Ends a clone, unless it has ended ({@code fs clone cancel}). */
  void cancelClone(String name) {
    try {
      ask("fs clone cancel", inGroup(Map.of("clone_name", name)));
    } catch (CephException e) {
      if (e.errno() != Errno.EINVAL && e.errno() != Errno.EOPNOTSUPP) {
        throw e;
      }
    }
  }

  private Map<String, Object> inGroup(Map<String, Object> more) {
    Map<String, Object> command = new LinkedHashMap<>(more);
    command.put("group_name", group);
    return command;
  }

  private Optional<JsonNode> ask(String prefix, Map<String, Object> more) {
    try {
      return Optional.of(parse(prefix, send(prefix, more)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** A manager that does not know the file system, as one that just starts, proves nothing gone. */
  private void requireFileSystem(CephException.NotFound e) {
    String said = String.valueOf(e.getMessage());
    if (said.contains("'" + fileSystem + "' not found") || said.contains("Filesystem not found")) {
      throw new VolumeException(
          VolumeException.Reason.UNAVAILABLE,
          "the manager does not know file system " + fileSystem + "; try again later",
          e);
    }
  }

  private static JsonNode parse(String prefix, String text) {
    try {
      return Json.mapper().readTree(text.isBlank() ? "{}" : text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("the manager's answer to \"" + prefix + "\" is not JSON", e);
    }
  }

  private String send(String prefix, Map<String, Object> more) {
    Map<String, Object> arguments = new LinkedHashMap<>();
    arguments.put("vol_name", fileSystem);
    arguments.putAll(more);
    CephCommand command = CephCommand.of(prefix, arguments);
    try {
      return manager.send(command);
    } catch (CephException.NotFound e) {
      requireFileSystem(e);
      throw e;
    }
  }
}
