package io.cephcsi.driver.volume;

/** The parameters that Kubernetes' sidecars add to those of a class, to say whose a volume is. */
public final class SidecarKeys {
  /** Begins all of them. */
  public static final String PREFIX = "csi.storage.k8s.io/";

  private SidecarKeys() {}

  /** Whether a parameter comes from a sidecar, not from who wrote the class. */
  public static boolean contain(String key) {
    return key.startsWith(PREFIX);
  }
}
