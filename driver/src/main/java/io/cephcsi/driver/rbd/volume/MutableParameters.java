package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

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
          if (name == null) {
            throw VolumeException.invalid(
                "mutable_parameters: " + key + " is not known; known are " + KEYS.keySet());
          }
          metadata.put(name, number(key, value.strip()));
        });
    return new MutableParameters(metadata);
  }

  private static String number(String key, String value) {
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
        "mutable_parameters: " + key + " must be a whole number, 0 for no limit, not " + value);
  }

  /**
   * Writes them to an image, and tells who has it open. Not as one of its users: metadata that
   * librbd writes need the image's lock, which the client that has the image attached would have to
   * release. Watchers are notified also when nothing changed, as an earlier call may have been
   * interrupted before.
   */
  void applyTo(OpenImage volume) {
    if (metadata.isEmpty()) {
      return;
    }
    RbdPool pool = volume.pool();
    String imageId = volume.imageId();
    Map<String, String> present = HeaderMetadata.read(pool.io(), imageId, metadata.keySet());
    Map<String, String> set = new TreeMap<>();
    List<String> removed = new ArrayList<>();
    metadata.forEach(
        (key, value) -> {
          if (value.isEmpty() && present.containsKey(key)) {
            removed.add(key);
          } else if (!value.isEmpty() && !value.equals(present.get(key))) {
            set.put(key, value);
          }
        });
    if (!set.isEmpty() || !removed.isEmpty()) {
      volume.changeMetadata(imageId, set, removed);
    }
    HeaderNotification.tellWatchers(pool, imageId);
  }
}
