package io.cephcsi.bindings.error;

import java.util.HashMap;
import java.util.Map;

/**
 * The error numbers of Linux that librados, librbd and libcephfs return, negated, from their calls.
 *
 * <p>The numbers are those of the generic Linux ABI, the same on x86-64 and arm64. Ceph speaks of
 * {@code EBLOCKLISTED} where this list says {@link #ESHUTDOWN}.
 */
public enum Errno {
  /** A number that is not in this list: the exception carries the raw value. */
  UNKNOWN(0),
  EPERM(1),
  ENOENT(2),
  EINTR(4),
  EIO(5),
  ENXIO(6),
  E2BIG(7),
  EBADF(9),
  EAGAIN(11),
  ENOMEM(12),
  EACCES(13),
  EFAULT(14),
  EBUSY(16),
  EEXIST(17),
  EXDEV(18),
  ENODEV(19),
  ENOTDIR(20),
  EISDIR(21),
  EINVAL(22),
  ENOTTY(25),
  EFBIG(27),
  ENOSPC(28),
  EROFS(30),
  EMLINK(31),
  EDOM(33),
  ERANGE(34),
  ENAMETOOLONG(36),
  ENOSYS(38),
  ENOTEMPTY(39),
  ELOOP(40),
  ENODATA(61),
  /** What is stored cannot be read: it is damaged. */
  EBADMSG(74),
  EOVERFLOW(75),
  EILSEQ(84),
  EOPNOTSUPP(95),
  /** The client is blocklisted: nothing that it does reaches the cluster any more. */
  ESHUTDOWN(108),
  ENOTCONN(107),
  ETIMEDOUT(110),
  ECONNREFUSED(111),
  EALREADY(114),
  EINPROGRESS(115),
  ESTALE(116),
  /** The file system is damaged. */
  EUCLEAN(117),
  EDQUOT(122),
  ECANCELED(125),
  /** The key that files are encrypted with is not there. */
  ENOKEY(126);

  private static final Map<Integer, Errno> BY_NUMBER = new HashMap<>();

  static {
    for (Errno errno : values()) {
      BY_NUMBER.put(errno.number, errno);
    }
  }

  private final int number;

  Errno(int number) {
    this.number = number;
  }

  /** The positive number; 0 for {@link #UNKNOWN}. */
  public int number() {
    return number;
  }

  /**
   * The constant for a return code.
   *
   * @param code a return code, negative as the libraries return it or positive as errno.h has it
   * @return {@link #UNKNOWN} for a number that is not in the list
   */
  public static Errno of(int code) {
    return BY_NUMBER.getOrDefault(Math.abs(code), UNKNOWN);
  }
}
