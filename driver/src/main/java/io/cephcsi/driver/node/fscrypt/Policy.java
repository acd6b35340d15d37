package io.cephcsi.driver.node.fscrypt;

import io.cephcsi.bindings.linux.EncryptionPolicy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The key of a folder's policy, wrapped by protectors ({@code PolicyData} of fscrypt).
 *
 * <pre>
 *   1 which key, as the kernel names it   2 {1 padding  2 mode of contents  3 of names  4 version}
 *   3 for each protector {1 its descriptor  2 the wrapped key (64 bytes)}
 * </pre>
 *
 * @param descriptor which key, as {@link EncryptionPolicy#key}
 * @param padding of names, in bytes
 * @param contents the mode of contents
 * @param names the mode of names
 * @param version of the policy
 * @param keys the key, once for each protector
 */
record Policy(
    String descriptor, int padding, int contents, int names, int version, List<OfProtector> keys) {
  private static final int PADDING = 32;
  private static final int MOST_PROTECTORS = 16;

  /**
   * The key as one protector wraps it.
   *
   * @param protector its descriptor
   * @param key the wrapped key
   */
  record OfProtector(String protector, WrappedKey key) {}

  /** Copies the list. */
  Policy {
    keys = List.copyOf(keys);
  }

  /** One of new volumes. */
  static Policy of(EncryptionPolicy kernel, String protector, WrappedKey key) {
    return new Policy(
        kernel.key(),
        PADDING,
        kernel.contents(),
        kernel.names(),
        kernel.version(),
        List.of(new OfProtector(protector, key)));
  }

  /**
   * Reads one.
   *
   * @throws IOException when it is none
   */
  static Policy read(byte[] message) throws IOException {
    ProtoFields fields = ProtoFields.read(message);
    ProtoFields options = fields.message(2);
    List<OfProtector> keys = new ArrayList<>();
    for (byte[] one : fields.all(3)) {
      if (keys.size() == MOST_PROTECTORS) {
        throw new IOException("it has too many protectors");
      }
      ProtoFields of = ProtoFields.read(one);
      keys.add(
          new OfProtector(of.text(1), WrappedKey.read(of.message(2), FscryptKeys.POLICY_BYTES)));
    }
    return new Policy(
        fields.text(1),
        options.count(1),
        options.count(2),
        options.count(3),
        options.count(4),
        keys);
  }

  byte[] encode() {
    byte[] options =
        new ProtoFields.Writer()
            .number(1, padding)
            .number(2, contents)
            .number(3, names)
            .number(4, version)
            .toBytes();
    ProtoFields.Writer out = new ProtoFields.Writer().text(1, descriptor).bytes(2, options);
    for (OfProtector one : keys) {
      out.bytes(
          3,
          new ProtoFields.Writer().text(1, one.protector()).bytes(2, one.key().encode()).toBytes());
    }
    return out.toBytes();
  }
}
