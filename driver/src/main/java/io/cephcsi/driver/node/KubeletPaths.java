package io.cephcsi.driver.node;

import java.nio.file.Path;
import java.util.regex.Pattern;

/** The paths that kubelet gives to volumes, and makes for nothing else. */
public final class KubeletPaths {
  private static final Pattern TARGET =
      Pattern.compile(
          ".*/pods/[^/]+/volumes/kubernetes\\.io~csi/[^/]+/mount"
              + "|.*/plugins/kubernetes\\.io/csi/volumeDevices/publish/[^/]+(/[^/]+)?");
  private static final Pattern STAGING =
      Pattern.compile(".*/plugins/kubernetes\\.io/csi/[^/]+/[^/]+/globalmount");

  private static final Pattern IN_A_VOLUME =
      Pattern.compile(
          ".*/pods/[^/]+/volumes/(?!kubernetes\\.io~csi/[^/]+/mount\\z)[^/]+~[^/]+/[^/]+/.+"
              + "|.*/pods/[^/]+/volume-subpaths/.+",
          Pattern.DOTALL);

  private KubeletPaths() {}

  /** Whether a path is one where a pod's CSI volume is shown. */
  static boolean isTarget(Path path) {
    return TARGET.matcher(path.toString()).matches();
  }

  /** Whether a path lies in what a pod has as a volume of any kind, such as an emptyDir. */
  static boolean isInVolume(Path path) {
    return IN_A_VOLUME.matcher(path.toString()).matches();
  }

  /** Whether a path is one where a CSI volume with a file system is staged. */
  public static boolean isStaging(Path path) {
    return STAGING.matcher(path.toString()).matches();
  }
}
