package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Instant;
import java.util.Locale;

/**
 * What the daemon of a site last said of a mirrored image ({@code rbd_mirror_image_site_status_t}).
 *
 * @param mirrorUuid the pool of the other site; empty for this site
 * @param state what the daemon does
 * @param description for people, and behind a comma JSON that depends on the mode; may be empty
 * @param lastUpdate when the daemon said it
 * @param up whether that daemon runs; else the rest is how it was
 */
public record MirrorSite(
    String mirrorUuid, State state, String description, Instant lastUpdate, boolean up) {
  static final int BYTES = 40;

  /** {@code rbd_mirror_image_status_state_t}. */
  public enum State {
    UNKNOWN(0),
    ERROR(1),
    SYNCING(2),
    STARTING_REPLAY(3),
    REPLAYING(4),
    STOPPING_REPLAY(5),
    STOPPED(6);

    final int number;

    State(int number) {
      this.number = number;
    }

    /** A state of a newer librbd is not known. */
    private static State of(int number) {
      for (State state : values()) {
        if (state.number == number) {
          return state;
        }
      }
      return UNKNOWN;
    }
  }

  /** Whether this is the site of the cluster that was asked. */
  public boolean isLocal() {
    return mirrorUuid.isEmpty();
  }

  /** Whether the daemon runs and is in a state. */
  public boolean isUp(State wanted) {
    return up && state == wanted;
  }

  /** As {@code rbd mirror image status} shows it, such as {@code up+replaying}. */
  public String show() {
    return (up ? "up+" : "down+") + state.name().toLowerCase(Locale.ROOT);
  }

  static MirrorSite decode(long site) {
    return new MirrorSite(
        NativeMemory.cString(NativeMemory.getLong(site)),
        State.of(NativeMemory.getInt(site + 8)),
        NativeMemory.cString(NativeMemory.getLong(site + 16)),
        Instant.ofEpochSecond(NativeMemory.getLong(site + 24)),
        NativeMemory.getByte(site + 32) != 0);
  }
}
