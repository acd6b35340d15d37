package io.cephcsi.driver.node.fscrypt;

import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;

/**
 * What opens policies: a key that a passphrase, or a key from outside, wraps ({@code ProtectorData}
 * of fscrypt).
 *
 * <pre>
 *   1 descriptor   2 source: 2 a passphrase, 3 a key as it is   3 name   4 costs   5 salt (16 bytes)
 *   6 user, of sources that are none of ours   7 the wrapped key (32 bytes)
 * </pre>
 *
 * @param descriptor its name among the protectors: 16 hexadecimal digits
 * @param raw whether it is opened by a key as it is, and not by a passphrase
 * @param name what a user calls it
 * @param costs of Argon2; empty where it is raw
 * @param salt of Argon2
 * @param key its key, wrapped
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
record Protector(
    String descriptor,
    boolean raw,
    String name,
    Optional<HashCosts> costs,
    byte[] salt,
    WrappedKey key) {
  /** What drivers call it. */
  static final String NAME = "ceph-csi";

  private static final int PASSPHRASE = 2;
  private static final int RAW_KEY = 3;
  private static final int SALT_BYTES = 16;

  /**
   * Makes one.
   *
   * @param secret that opens it
   * @param raw whether its first 32 bytes are the key that wraps; else it is a passphrase
   * @param key of the protector
   */
  static Protector make(byte[] secret, boolean raw, byte[] key, HashCosts costs) {
    byte[] salt = raw ? new byte[0] : FscryptKeys.random(SALT_BYTES);
    byte[] wrapping = raw ? fitted(secret) : FscryptKeys.argon2id(secret, salt, costs);
    try {
      return new Protector(
          FscryptKeys.descriptor(key),
          raw,
          NAME,
          raw ? Optional.empty() : Optional.of(costs),
          salt,
          WrappedKey.wrap(wrapping, key));
    } finally {
      Arrays.fill(wrapping, (byte) 0);
    }
  }

  /** Cut to the length of a key, or made as long by zeroes: as drivers use a secret as a key. */
  private static byte[] fitted(byte[] secret) {
    return Arrays.copyOf(secret, FscryptKeys.PROTECTOR_BYTES);
  }

  /**
   * Reads one.
   *
   * @throws IOException when it is none, or one that drivers do not make
   */
  static Protector read(byte[] message) throws IOException {
    return read(ProtoFields.read(message));
  }

  /** As {@link #read(byte[])}. */
  static Protector read(ProtoFields fields) throws IOException {
    int source = fields.count(2);
    if (source != PASSPHRASE && source != RAW_KEY) {
      throw new IOException("it is opened by neither a passphrase nor a key");
    }
    boolean raw = source == RAW_KEY;
    byte[] salt = fields.bytes(5);
    if (!raw && salt.length != SALT_BYTES) {
      throw new IOException("its salt has another length");
    }
    return new Protector(
        fields.text(1),
        raw,
        fields.text(3),
        raw ? Optional.empty() : Optional.of(HashCosts.read(fields.message(4))),
        salt,
        WrappedKey.read(fields.message(7), FscryptKeys.PROTECTOR_BYTES));
  }

  /** Whether a message has the drivers' name; what else it has need not be right. */
  static boolean isOurs(ProtoFields fields) throws IOException {
    return fields.text(3).equals(NAME);
  }

  /** Whether a message, which need not be complete, may be one that a driver makes. */
  static boolean mayBeOurs(ProtoFields fields) throws IOException {
    long source = fields.number(2);
    String name = fields.text(3);
    return (source == 0 || source == PASSPHRASE || source == RAW_KEY)
        && (name.isEmpty() || name.equals(NAME));
  }

  byte[] encode() {
    ProtoFields.Writer out =
        new ProtoFields.Writer()
            .text(1, descriptor)
            .number(2, raw ? RAW_KEY : PASSPHRASE)
            .text(3, name);
    costs.ifPresent(found -> out.bytes(4, found.encode()));
    return out.bytes(5, salt).bytes(7, key.encode()).toBytes();
  }

  /**
   * Its key, which the caller wipes; empty when the secret is another. Besides the secret as it is,
   * 32 bytes of it are tried, as some versions of ceph-csi took it: a longer one cut, a shorter one
   * with zeroes behind it.
   */
  Optional<byte[]> open(byte[] secret) {
    Optional<byte[]> found = openBy(secret);
    return found.isPresent() || secret.length == FscryptKeys.PROTECTOR_BYTES
        ? found
        : openBy(fitted(secret));
  }

  private Optional<byte[]> openBy(byte[] secret) {
    if (raw && secret.length != FscryptKeys.PROTECTOR_BYTES) {
      return Optional.empty();
    }
    byte[] wrapping =
        raw ? secret.clone() : FscryptKeys.argon2id(secret, salt, costs.orElseThrow());
    try {
      return key.unwrap(wrapping)
          .filter(opened -> FscryptKeys.descriptor(opened).equals(descriptor));
    } finally {
      Arrays.fill(wrapping, (byte) 0);
    }
  }
}
