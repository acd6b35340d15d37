package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;

/** The passphrase that the Secret of a StorageClass has: the KMS that needs no configuration. */
record SecretPassphrase() implements SharedPassphrase {
  /** The key of a Secret that has it. */
  static final String KEY = "encryptionPassphrase";

  @Override
  public String id() {
    return DEFAULT_ID;
  }

  @Override
  public Passphrase passphrase(KeyOwner owner) {
    return of(owner.secrets());
  }

  /**
   * That of a request's secrets.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not there, or too long
   */
  static Passphrase of(Map<String, String> secrets) {
    String text = secrets.getOrDefault(KEY, "");
    if (text.isEmpty()) {
      throw VolumeException.invalid(
          "the secrets have no " + KEY + ": add it to the Secret that the StorageClass names");
    }
    return Checks.passphrase("the secrets' " + KEY, text.getBytes(UTF_8));
  }
}
