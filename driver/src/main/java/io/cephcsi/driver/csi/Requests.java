package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Decodes what several requests have in common; what is missing is named. */
public final class Requests {
  private Requests() {}

  /** A field that must not be empty. */
  public static String required(String value, String field) {
    if (value.isEmpty()) {
      throw VolumeException.invalid(field + " is required");
    }
    return value;
  }

  /**
   * The identifier of a volume that must exist.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is missing, NOT_FOUND when it does not parse
   */
  public static VolumeId volumeId(String value) {
    return VolumeId.parse(required(value, "volume_id"))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    "volume " + value + " does not exist: this is no id of this driver"));
  }

  /**
   * The credentials for a call that may carry no secrets.
   *
   * @param own those of the driver; empty without
   * @param id what the call is about
   * @throws VolumeException UNAUTHENTICATED when there are none
   */
  static Credentials credentials(
      Optional<DriverConnections> own, Storage storage, VolumeId id, Map<String, String> secrets) {
    return own.map(access -> access.credentials(id, secrets))
        .orElseGet(() -> storage.credentials(secrets));
  }

  /** The capacity range; none is any. */
  public static CapacityRange capacity(io.cephcsi.proto.csi.v1.CapacityRange range) {
    return new CapacityRange(range.getRequiredBytes(), range.getLimitBytes());
  }

  /** A path that may be left out; empty then. */
  public static Optional<Path> optionalPath(String value, String field) {
    return value.isEmpty() ? Optional.empty() : Optional.of(path(value, field));
  }

  /**
   * Where a volume is said to be on a node; a relative path is no place of a volume.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is missing, NOT_FOUND when it is relative
   */
  static Path volumePath(String value) {
    if (!required(value, "volume_path").startsWith("/")) {
      throw VolumeException.notFound("volume_path " + value + " is no place of a volume");
    }
    return path(value, "volume_path");
  }

  /**
   * A path that must be given, absolute.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not
   */
  public static Path path(String value, String field) {
    try {
      Path path = Path.of(required(value, field));
      if (path.isAbsolute() && path.getNameCount() > 0 && path.equals(path.normalize())) {
        return path;
      }
    } catch (InvalidPathException e) {
      throw VolumeException.invalid(field + ": " + e.getMessage());
    }
    throw VolumeException.invalid(
        field + " must be an absolute path without . and .., not " + value);
  }
}
