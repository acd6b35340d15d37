package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.util.Optional;

/**
 * The mirroring of an image ({@code rbd_mirror_image_info_t}).
 *
 * @param globalId the id that the image has on all sites
 * @param state whether mirroring is on, or is being switched on or off
 * @param primary whether this site may write; a secondary one is written by mirroring only
 */
public record MirrorInfo(String globalId, State state, boolean primary) {
  static final int BYTES = 16;

  /** {@code rbd_mirror_image_state_t}, without that of an image that is not mirrored. */
  public enum State {
    /** Being switched off; a call that was interrupted leaves it so. */
    DISABLING,
    /** On. */
    ENABLED,
    /** The daemon of this site is making the image, as a copy of another one. */
    CREATING;

    private static Optional<State> of(int state) {
      return switch (state) {
        case 0 -> Optional.of(DISABLING);
        case 1 -> Optional.of(ENABLED);
        case 3 -> Optional.of(CREATING);
        default -> Optional.empty();
      };
    }
  }

  static Optional<MirrorInfo> decode(long info) {
    return State.of(NativeMemory.getInt(info + 8))
        .map(
            state ->
                new MirrorInfo(
                    NativeMemory.cString(NativeMemory.getLong(info)),
                    state,
                    NativeMemory.getByte(info + 12) != 0));
  }
}
