package io.cephcsi.driver.node.cephfs;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What ceph-fuse and mount.ceph(8) tell of a mount that failed. Their exit codes do not tell it:
 * the errno is in the text.
 */
final class MountErrors {
  private static final Pattern ERRNO =
      Pattern.compile(
          "ceph (?:mount|client) failed with .*?\\((\\d{1,4})\\) [A-Z]|mount error (\\d{1,4}) = ");
  private static final Pattern NO_MDS =
      Pattern.compile("no mds (?:server |\\(Metadata Server\\) )is up", Pattern.CASE_INSENSITIVE);

  private MountErrors() {}

  /**
   * What is told of a mount that failed: the volume's directory may be gone, its user may not mount
   * it, or no MDS serves it.
   *
   * @return another exception for these, else the given one
   */
  static RuntimeException explained(CommandException e, CephFsMounter.Request request) {
    String said = String.valueOf(e.getMessage());
    if (NO_MDS.matcher(said).find()) {
      return new VolumeException(
          Reason.UNAVAILABLE,
          "no MDS serves the file system " + request.fileSystem() + "; try again later: " + said,
          e);
    }
    Matcher found = ERRNO.matcher(said);
    if (!found.find()) {
      return MountFlags.explained(e);
    }
    int errno = Integer.parseInt(found.group(1) != null ? found.group(1) : found.group(2));
    return switch (Errno.of(errno)) {
      case ENOENT ->
          new VolumeException(
              Reason.NOT_FOUND,
              "the file system "
                  + request.fileSystem()
                  + " has no "
                  + request.root()
                  + ": the volume may have been deleted meanwhile: "
                  + said,
              e);
      case EPERM, EACCES, ESHUTDOWN, ETIMEDOUT ->
          ReturnCode.exception(-errno, "mount", request.root(), said);
      default -> e;
    };
  }
}
