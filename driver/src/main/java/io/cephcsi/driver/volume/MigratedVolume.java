package io.cephcsi.driver.volume;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A volume that Kubernetes' in-tree plugin made. Kubernetes gives it an identifier that says where
 * its image is, as ceph-csi takes it:
 *
 * <pre>
 *   mig_mons-[md5 of the monitors, hex]_image-[uuid]_[name of the pool, hex]
 * </pre>
 *
 * @param handle the identifier
 * @param clusterId the cluster in the configuration: the md5
 * @param pool the pool
 * @param image the image, {@code kubernetes-dynamic-pvc-[uuid]}
 */
public record MigratedVolume(String handle, String clusterId, String pool, String image) {
  private static final Pattern HANDLE =
      Pattern.compile(
          "mig_mons-(?<cluster>[0-9a-f]{32})"
              + "_image-(?<uuid>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"
              + "_(?<pool>([0-9a-f]{2})+)");

  /** Reads an identifier; empty when it is not that of such a volume. */
  public static Optional<MigratedVolume> parse(String handle) {
    return Optional.of(HANDLE.matcher(handle)).filter(Matcher::matches).flatMap(MigratedVolume::of);
  }

  private static Optional<MigratedVolume> of(Matcher handle) {
    String pool = new String(HexFormat.of().parseHex(handle.group("pool")), UTF_8);
    return CheckedName.problem(pool).isPresent()
        ? Optional.empty()
        : Optional.of(
            new MigratedVolume(
                handle.group(),
                handle.group("cluster"),
                pool,
                "kubernetes-dynamic-pvc-" + handle.group("uuid")));
  }
}
