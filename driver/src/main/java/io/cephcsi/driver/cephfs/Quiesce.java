package io.cephcsi.driver.cephfs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A set of subvolumes whose clients the MDS lets wait, so that snapshots of them are of one point
 * in time ({@code ceph fs quiesce}, from Ceph 19 on). A set ends by {@link #release}, by {@link
 * #cancel}, or, should its maker die, when it expires; only the first of these says that all of its
 * members stood still all the time.
 *
 * <p>The manager does nothing else while it waits for the MDS. Safe for several threads.
 *
 * @param manager sends commands
 * @param fileSystem the file system
 * @param group the group of the subvolumes
 * @param id of the set, unique in the file system
 */
record Quiesce(ManagerCommands manager, String fileSystem, String group, String id) {
  private static final Logger LOG = LoggerFactory.getLogger(Quiesce.class);
  private static final String PREFIX = "fs quiesce";

  /** The states of a set, as the MDS names them. */
  enum State {
    /** Clients still finish what they do. */
    QUIESCING,
    /** All stand still. */
    QUIESCED,
    /** It is being ended. */
    RELEASING,
    /** It was ended, and all stood still until then. */
    RELEASED,
    /** It took too long between both. */
    EXPIRED,
    /** A member failed. */
    FAILED,
    /** It was given up. */
    CANCELED,
    /** A client did not finish in time. */
    TIMEDOUT,
    /** One that this driver does not know. */
    UNKNOWN;

    /** Whether clients may still have to wait. */
    boolean isActive() {
      return this == QUIESCING || this == QUIESCED || this == RELEASING || this == UNKNOWN;
    }

    static State of(String name) {
      for (State state : values()) {
        if (state.name().equals(name)) {
          return state;
        }
      }
      return UNKNOWN;
    }
  }

  /**
   * Waits until all clients of the subvolumes stand still; if they do not, it cancels the set,
   * unless that was not begun.
   *
   * @param within how long it may take
   * @param expires how long they stand still at most
   * @throws VolumeException ABORTED if they do not; UNAVAILABLE if the manager is not asked
   * @throws CephException.Denied if the user may not ask for it
   */
  void begin(Collection<String> subvolumes, Duration within, Duration expires) {
    String answer;
    try {
      answer =
          manager.send(
              command(
                  Map.of(
                      "members",
                      List.copyOf(subvolumes),
                      "timeout",
                      seconds(within),
                      "expiration",
                      seconds(expires),
                      "await",
                      true)));
    } catch (CephException e) {
      if (e.errno() == Errno.EACCES) { // of the manager; EPERM is what the MDS says of a set
        throw e;
      }
      cancel();
      throw refused("could not be quiesced within " + within.toSeconds() + " s", e);
    }
    State state = State.UNKNOWN;
    try {
      state = decode(answer).orElse(State.UNKNOWN);
    } finally {
      if (state != State.QUIESCED) {
        cancel();
      }
    }
    if (state != State.QUIESCED) {
      throw refused("could not be quiesced: the set is " + state);
    }
  }

  /** The command takes floating-point numbers, and no integers. */
  private static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }

  /**
   * Lets the clients go on.
   *
   * @throws VolumeException ABORTED if they have not stood still until now
   */
  void release() {
    State state;
    try {
      state = send(command(Map.of("release", true, "await", true)).urgent()).orElse(State.UNKNOWN);
    } catch (CephException e) {
      throw refused("did not stay quiesced", e);
    }
    if (state != State.RELEASED) {
      throw refused("did not stay quiesced: the set is " + state);
    }
  }

  /** Lets the clients continue, whatever the state of the set; a failure is only logged. */
  void cancel() {
    try {
      LOG.debug("quiesce set {} is {}", id, send(command(Map.of("cancel", true)).urgent()));
    } catch (CephException.NotFound | CephException.Denied e) {
      LOG.debug("quiesce set {} has ended: {}", id, e.getMessage());
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "quiesce set {} could not be cancelled and ends when it expires: {}", id, e.getMessage());
    }
  }

  /** The state of the set; empty if the MDS does not know it, or not any more. */
  Optional<State> state() {
    try {
      return send(command(Map.of("query", true)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private VolumeException refused(String what, CephException e) {
    return new VolumeException(Reason.ABORTED, message(what) + " (" + e.getMessage() + ")", e);
  }

  private VolumeException refused(String what) {
    return new VolumeException(Reason.ABORTED, message(what));
  }

  private String message(String what) {
    return "the volumes in file system " + fileSystem + " " + what + "; try again";
  }

  private CephCommand command(Map<String, Object> more) {
    Map<String, Object> arguments = new LinkedHashMap<>();
    arguments.put("vol_name", fileSystem);
    arguments.put("group_name", group);
    arguments.put("set_id", id);
    arguments.putAll(more);
    return CephCommand.of(PREFIX, arguments);
  }

  private Optional<State> send(CephCommand command) {
    return decode(manager.send(command));
  }

  private Optional<State> decode(String answer) {
    JsonNode state;
    try {
      state = Json.mapper().readTree(answer).path("sets").path(id).path("state").path("name");
    } catch (JsonProcessingException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE, "the answer to \"" + PREFIX + "\" is not JSON", e);
    }
    return state.isMissingNode() ? Optional.empty() : Optional.of(State.of(state.asText()));
  }
}
