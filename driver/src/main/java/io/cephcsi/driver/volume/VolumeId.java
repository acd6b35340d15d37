package io.cephcsi.driver.volume;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.UUID;

/**
 * The identifier of a volume, snapshot or group, as ceph-csi writes it:
 *
 * <pre>
 *   VVVV-LLLL-&lt;clusterID&gt;-&lt;16 hex digits&gt;-&lt;uuid&gt;
 *   0001 encoding version · length of clusterID in bytes, hex · pool id or fscid · 36 characters
 * </pre>
 *
 * @param clusterId the id of the cluster in the driver's configuration, 1 to 64 bytes
 * @param location the id of the pool (RBD) or of the file system (CephFS)
 * @param uuid the object's uuid
 */
public record VolumeId(String clusterId, long location, UUID uuid) {
  /** The longest identifier that the CSI specification allows, in bytes. */
  public static final int MAX_BYTES = 128;

  private static final String VERSION = "0001";
  private static final int FIXED_BYTES = 64;
  private static final int MAX_CLUSTER_ID_BYTES = MAX_BYTES - FIXED_BYTES;
  private static final int UUID_LENGTH = 36;
  private static final int LOCATION_LENGTH = 16;
  private static final HexFormat HEX = HexFormat.of();

  /** Refuses a clusterID that no identifier can hold. */
  public VolumeId {
    requireClusterId(clusterId);
  }

  /**
   * Checks that identifiers can hold a clusterID, before anything is made that needs one.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is empty, too long or not plain text
   */
  public static void requireClusterId(String clusterId) {
    int bytes = clusterId.getBytes(StandardCharsets.UTF_8).length;
    if (bytes == 0 || bytes > MAX_CLUSTER_ID_BYTES) {
      throw VolumeException.invalid(
          "clusterID must have 1 to " + MAX_CLUSTER_ID_BYTES + " bytes, not " + bytes);
    }
    PlainText.require("clusterID", clusterId);
  }

  /**
   * Reads an identifier.
   *
   * @return empty when it is not one: no such volume can exist
   */
  public static Optional<VolumeId> parse(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MAX_BYTES || bytes.length <= FIXED_BYTES || !text.startsWith(VERSION)) {
      return Optional.empty();
    }
    try {
      int clusterLength = HexFormat.fromHexDigits(text, 5, 9);
      if (clusterLength != bytes.length - FIXED_BYTES || bytes[4] != '-' || bytes[9] != '-') {
        return Optional.empty();
      }
      String clusterId = new String(bytes, 10, clusterLength, StandardCharsets.UTF_8);
      String rest =
          new String(
              bytes, 10 + clusterLength, bytes.length - 10 - clusterLength, StandardCharsets.UTF_8);
      return parse(clusterId, rest)
          .filter(id -> id.toString().equals(text)); // one spelling only: lower case
    } catch (IllegalArgumentException | VolumeException e) {
      return Optional.empty();
    }
  }

  private static Optional<VolumeId> parse(String clusterId, String rest) {
    int uuidStart = 1 + LOCATION_LENGTH + 1;
    if (rest.length() != uuidStart + UUID_LENGTH
        || rest.charAt(0) != '-'
        || rest.charAt(1 + LOCATION_LENGTH) != '-') {
      return Optional.empty();
    }
    long location = HexFormat.fromHexDigitsToLong(rest, 1, 1 + LOCATION_LENGTH);
    return Optional.of(
        new VolumeId(clusterId, location, UUID.fromString(rest.substring(uuidStart))));
  }

  @Override
  public String toString() {
    int bytes = clusterId.getBytes(StandardCharsets.UTF_8).length;
    return VERSION
        + '-'
        + HEX.toHexDigits((short) bytes)
        + '-'
        + clusterId
        + '-'
        + HEX.toHexDigits(location)
        + '-'
        + uuid;
  }
}
