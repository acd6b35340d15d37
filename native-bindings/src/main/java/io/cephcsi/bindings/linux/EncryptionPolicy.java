package io.cephcsi.bindings.linux;

import java.util.Arrays;
import java.util.HexFormat;

/**
 * How the kernel encrypts what is in a folder ({@code struct fscrypt_policy_v1}, {@code _v2} of
 * {@code linux/fscrypt.h}).
 *
 * @param version 1 or 2
 * @param contents the mode of contents: 1 for AES-256-XTS
 * @param names the mode of names: 4 for AES-256-CTS
 * @param flags how names are padded, and more: 3 for steps of 32 bytes
 * @param key which key it takes, in hexadecimal: 8 bytes of a descriptor in version 1, 16 bytes of
 *     an identifier in version 2
 */
public record EncryptionPolicy(int version, int contents, int names, int flags, String key) {
  /** What {@code ioctl} takes for version 2, in bytes. */
  static final int V2_BYTES = 24;

  private static final int V1_BYTES = 12;
  private static final int V1 = 0; // FSCRYPT_POLICY_V1: the number in memory
  private static final int V2 = 2; // FSCRYPT_POLICY_V2
  private static final int V1_KEY = 4; // where its key begins
  private static final int V2_KEY = 8;

  /** Of version 2, as drivers make it: AES-256-XTS, AES-256-CTS, names in steps of 32 bytes. */
  public static EncryptionPolicy usual(String key) {
    return new EncryptionPolicy(2, 1, 4, 3, key);
  }

  /** As in memory, of version 2. */
  byte[] encode() {
    byte[] bytes = new byte[V2_BYTES];
    bytes[0] = V2;
    bytes[1] = (byte) contents;
    bytes[2] = (byte) names;
    bytes[3] = (byte) flags;
    System.arraycopy(HexFormat.of().parseHex(key), 0, bytes, V2_KEY, V2_BYTES - V2_KEY);
    return bytes;
  }

  /**
   * As it is in memory.
   *
   * @throws IllegalArgumentException for a version that is not known
   */
  static EncryptionPolicy decode(byte[] bytes) {
    boolean first = bytes.length == V1_BYTES && bytes[0] == V1;
    if (!first && !(bytes.length == V2_BYTES && bytes[0] == V2)) {
      throw new IllegalArgumentException("version " + (bytes.length == 0 ? "none" : bytes[0]));
    }
    byte[] key = Arrays.copyOfRange(bytes, first ? V1_KEY : V2_KEY, bytes.length);
    return new EncryptionPolicy(
        first ? 1 : 2,
        bytes[1] & 0xff,
        bytes[2] & 0xff,
        bytes[3] & 0xff,
        HexFormat.of().formatHex(key));
  }
}
