package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * The mutable parameters of a volume, checked: limits on the I/O of its image, which librbd
 * enforces in every client that uses it (rbd-nbd, QEMU), and the kernel's client does not.
 *
 * @param metadata the image's metadata to set; an empty value takes the key away, so that what the
 *     pool says holds again
 */
public record MutableParameters(Map<String, String> metadata) {
  /** No changes. */
  public static final MutableParameters NONE = new MutableParameters(Map.of());

  private static final String WHERE = "mutable_parameters";

  private static final Map<String, String> KEYS =
      new TreeMap<>(
          Map.of(
              "qos.iopsLimit", "conf_rbd_qos_iops_limit",
              "qos.readIopsLimit", "conf_rbd_qos_read_iops_limit",
              "qos.writeIopsLimit", "conf_rbd_qos_write_iops_limit",
              "qos.iopsBurst", "conf_rbd_qos_iops_burst",
              "qos.bpsLimit", "conf_rbd_qos_bps_limit",
              "qos.readBpsLimit", "conf_rbd_qos_read_bps_limit",
              "qos.writeBpsLimit", "conf_rbd_qos_write_bps_limit",
              "qos.bpsBurst", "conf_rbd_qos_bps_burst"));

  /** Copies the map. */
  public MutableParameters {
    metadata = Map.copyOf(metadata);
  }

  /**
   * Reads the mutable parameters of a request.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the key that is not known, or whose value is
   *     not a whole number
   */
  public static MutableParameters parse(Map<String, String> parameters) {
    Map<String, String> metadata = new LinkedHashMap<>();
    parameters.forEach(
        (key, value) -> {
          if (SidecarKeys.contain(key)) {
            return; // the sidecars say whose volume it is
          }
          String name = KEYS.get(key);
          if (name != null) {
            metadata.put(name, number(WHERE, key, value.strip()));
          } else if (!QosRules.parameters().contains(key)) {
            throw VolumeException.invalid(
                WHERE + ": " + key + " is not known; known are " + known());
          }
        });
    Map<String, String> rules = QosRules.parse(WHERE, parameters);
    QosRules.requireApart(metadata, rules);
    metadata.putAll(rules);
    return new MutableParameters(metadata);
  }

  private static List<String> known() {
    return Stream.concat(KEYS.keySet().stream(), QosRules.parameters().stream()).toList();
  }

  /**
   * Those of a CreateVolume request: rules in the StorageClass hold where the mutable parameters
   * say nothing else.
   *
   * @param parameters of the StorageClass
   * @throws VolumeException as of {@link #parse}
   */
  public static MutableParameters parse(
      Map<String, String> parameters, Map<String, String> mutable) {
    Map<String, String> metadata = new LinkedHashMap<>(QosRules.parse("parameters", parameters));
    Map<String, String> given = parse(mutable).metadata;
    QosRules.withoutReplaced(metadata, given);
    metadata.putAll(given);
    return new MutableParameters(metadata);
  }

  static String number(String where, String key, String value) {
    if (value.isEmpty()) {
      return value;
    }
    try {
      long number = Long.parseLong(value);
      if (number >= 0) {
        return Long.toString(number);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw VolumeException.invalid(
        where
            + ": "
            + key
            + " must be a whole number, 0 for no limit, not "
            + PlainText.show(value));
  }

  /**
   * Writes them to an image, and tells who has it open. Not as one of its users: metadata that
   * librbd writes need the image's lock, which the client that has the image attached would have to
   * release.
   */
  void applyTo(OpenImage volume) {
    if (!metadata.isEmpty()) {
      String imageId = volume.imageId();
      applyTo(volume, imageId, () -> size(volume, imageId));
    }
  }

  /**
   * As {@link #applyTo(OpenImage)}.
   *
   * @param size of the image, in bytes; asked for when there is a rule
   */
  void applyTo(OpenImage volume, String imageId, LongSupplier size) {
    if (!metadata.isEmpty()) {
      QosRules.apply(volume, imageId, metadata, size);
    }
  }

  /**
   * Takes all limits from a new image, which has those of what it was cloned from: librbd copies
   * metadata. One round trip if there are none.
   */
  static void removeAll(OpenImage volume, String imageId) {
    Set<String> keys = new TreeSet<>(KEYS.values());
    keys.addAll(QosRules.stored());
    Map<String, String> present = HeaderMetadata.read(volume.pool().io(), imageId, keys);
    if (!present.isEmpty()) {
      volume.changeMetadata(imageId, Map.of(), List.copyOf(present.keySet()));
    }
  }

  private static long size(OpenImage volume, String imageId) {
    return ImageHeader.read(volume.pool().io(), imageId)
        .orElseThrow(() -> VolumeException.notFound("volume " + volume.volumeId() + " is gone"))
        .size();
  }
}
