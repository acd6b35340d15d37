package io.cephcsi.bindings.linux;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibC;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;

/**
 * What the kernel's encryption of files (fscrypt) knows of a folder, and of the file system that it
 * is in: the {@code ioctl}s of {@code linux/fscrypt.h}. Keys stay in the file system, until its
 * last mount goes. Blocks for as long as the file system does.
 *
 * @param folder the folder, opened to be read
 */
public record FileEncryption(OpenFile folder) {
  private static final int POLICY_ROOM = 64;
  private static final int KEY_HEADER = 80; // of struct fscrypt_add_key_arg
  private static final int SIZE_AT = 40; // raw_size in it
  private static final int STATUS_BYTES = 128;
  private static final int STATUS_AT = 64; // status in struct fscrypt_get_key_status_arg
  private static final int PRESENT = 2; // FSCRYPT_KEY_STATUS_PRESENT
  private static final int SPECIFIED_AT = 8; // the key in struct fscrypt_key_specifier
  private static final int DESCRIPTOR_BYTES = 8;

  /**
   * Whether kernel and file system can encrypt: ext4 needs the feature {@code encrypt}.
   *
   * @throws CephException if the file system is dead
   */
  public boolean isSupported() {
    try {
      Objects.requireNonNull(policy());
      return true;
    } catch (CephException e) {
      return switch (e.errno()) {
        case ENOTTY, EOPNOTSUPP, ENOSYS -> false;
        default -> throw e;
      };
    }
  }

  /**
   * The policy of the folder; empty when it has none.
   *
   * @throws CephException ENOTTY or EOPNOTSUPP when kernel or file system cannot encrypt; EINVAL
   *     for a policy of a version that is not known
   */
  public Optional<EncryptionPolicy> policy() {
    try (NativeArena arena = NativeArena.open()) {
      long argument = arena.allocate(Long.BYTES + POLICY_ROOM);
      NativeMemory.putLong(argument, EncryptionPolicy.V2_BYTES);
      if (LibC.ioctl(folder.descriptor(), LibC.FS_IOC_GET_ENCRYPTION_POLICY_EX, argument) < 0) {
        int errno = LibC.errno();
        if (errno == Errno.ENODATA.number()) {
          return Optional.empty();
        }
        throw failed(errno, "ioctl FS_IOC_GET_ENCRYPTION_POLICY_EX");
      }
      long length = Math.min(POLICY_ROOM, NativeMemory.getLong(argument));
      return Optional.of(
          EncryptionPolicy.decode(NativeMemory.bytes(argument + Long.BYTES, length)));
    } catch (IllegalArgumentException e) {
      throw failed(Errno.EINVAL.number(), "fscrypt policy, " + e.getMessage());
    }
  }

  /**
   * Has what will be in the folder encrypted. It must be empty.
   *
   * @param policy of version 2
   * @throws CephException EEXIST when it has another policy; ENOTEMPTY; ENOKEY for others than root
   *     when the key was not added; EINVAL for modes that the kernel does not know; EOPNOTSUPP
   */
  public void setPolicy(EncryptionPolicy policy) {
    try (NativeArena arena = NativeArena.open()) {
      long argument = arena.bytes(policy.encode());
      check(
          LibC.ioctl(folder.descriptor(), LibC.FS_IOC_SET_ENCRYPTION_POLICY, argument),
          "ioctl FS_IOC_SET_ENCRYPTION_POLICY");
    }
  }

  /**
   * Gives the file system a key. One that it has already may be given again.
   *
   * @param descriptor of a key of policies of version 1, as in {@link EncryptionPolicy#key}; empty
   *     for one of version 2, whose identifier the kernel finds
   * @param key its bytes, which the caller wipes
   * @return the identifier of the key, or the descriptor, in hexadecimal
   * @throws CephException EACCES for a key of version 1 without privileges; EDQUOT when there are
   *     too many keys
   */
  public String addKey(String descriptor, byte[] key) {
    try (NativeArena arena = NativeArena.open()) {
      int length = KEY_HEADER + key.length;
      long argument = arena.allocate(length);
      try {
        NativeMemory.putBytes(argument, new byte[KEY_HEADER]);
        specify(argument, descriptor);
        NativeMemory.putBytes(argument + SIZE_AT, littleEndian(key.length));
        NativeMemory.putBytes(argument + KEY_HEADER, key);
        check(
            LibC.ioctl(folder.descriptor(), LibC.FS_IOC_ADD_ENCRYPTION_KEY, argument),
            "ioctl FS_IOC_ADD_ENCRYPTION_KEY");
        return descriptor.isEmpty()
            ? HexFormat.of().formatHex(NativeMemory.bytes(argument + SPECIFIED_AT, 16))
            : descriptor;
      } finally {
        NativeMemory.putBytes(argument, new byte[length]);
      }
    }
  }

  /** The number in memory, of machines whose numbers begin with the last byte. */
  private static byte[] littleEndian(int value) {
    return new byte[] {
      (byte) value, (byte) (value >> 8), (byte) (value >> 16), (byte) (value >> 24)
    };
  }

  /** {@code struct fscrypt_key_specifier}: its type, 4 bytes of nothing, the key. */
  private static void specify(long argument, String key) {
    byte[] bytes = HexFormat.of().parseHex(key);
    boolean first = bytes.length == DESCRIPTOR_BYTES;
    NativeMemory.putLong(argument, first ? 1 : 2); // FSCRYPT_KEY_SPEC_TYPE_*
    NativeMemory.putBytes(argument + SPECIFIED_AT, bytes);
  }

  /**
   * Whether the file system has the key of a policy: then files can be read, made and written.
   *
   * @throws CephException ENOTTY or EOPNOTSUPP when kernel or file system cannot encrypt
   */
  public boolean hasKeyOf(EncryptionPolicy policy) {
    try (NativeArena arena = NativeArena.open()) {
      long argument = arena.allocate(STATUS_BYTES);
      NativeMemory.putBytes(argument, new byte[STATUS_BYTES]);
      specify(argument, policy.key());
      check(
          LibC.ioctl(folder.descriptor(), LibC.FS_IOC_GET_ENCRYPTION_KEY_STATUS, argument),
          "ioctl FS_IOC_GET_ENCRYPTION_KEY_STATUS");
      return NativeMemory.getInt(argument + STATUS_AT) == PRESENT;
    }
  }

  private void check(int result, String operation) {
    if (result < 0) {
      throw failed(LibC.errno(), operation);
    }
  }

  private CephException failed(int errno, String operation) {
    return ReturnCode.exception(-errno, operation, folder.name(), "");
  }
}
