package io.cephcsi.driver.rbd.encryption;

import java.util.Optional;

/** How far the encryption of an image is, as ceph-csi keeps it in the image's metadata. */
public enum EncryptionState {
  /** Nothing is said of it: it is not encrypted. */
  NONE(""),
  /** The first staging is to put LUKS on it. */
  PREPARED("encryptionPrepared"),
  /** It has LUKS. */
  ENCRYPTED("encrypted");

  private final String text;

  EncryptionState(String text) {
    this.text = text;
  }

  /** What the metadata has; empty for {@link #NONE}. */
  String text() {
    return text;
  }

  /** The state of a text; empty for a text that no driver writes. */
  static Optional<EncryptionState> of(String text) {
    for (EncryptionState state : values()) {
      if (state.text.equals(text)) {
        return Optional.of(state);
      }
    }
    return Optional.empty();
  }
}
