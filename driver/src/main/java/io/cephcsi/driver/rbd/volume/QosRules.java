package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits on the I/O of an image by its size, as ceph-csi has them: {@code min(max, base + (size -
 * baseVolSizeBytes) in whole GiB × perGiB)}. The rule stands in the image's metadata under
 * ceph-csi's keys, so that either driver finds it when the volume grows.
 *
 * <pre>
 *   baseReadIops      rbd_base_qos_read_iops_limit     conf_rbd_qos_read_iops_limit: the limit
 *   maxReadIops       rbd_max_qos_read_iops_limit
 *   readIopsPerGiB    rbd_read_iops_per_gib_limit
 *   baseVolSizeBytes  rbd_base_qos_vol_size            for all limits of the image
 * </pre>
 */
final class QosRules {
  private static final Logger LOG = LoggerFactory.getLogger(QosRules.class);
  private static final long GIB = 1L << 30;
  private static final String BASE_SIZE = "baseVolSizeBytes";
  private static final String STORED_BASE_SIZE = "rbd_base_qos_vol_size";

  private static final List<Limit> LIMITS =
      List.of(
          new Limit("Iops", "iopsPerGiB", "iops"),
          new Limit("ReadIops", "readIopsPerGiB", "read_iops"),
          new Limit("WriteIops", "writeIopsPerGiB", "write_iops"),
          new Limit("Bps", "bpsPerGiB", "bps"),
          new Limit("ReadBps", "readBpsPerGiB", "read_bps"),
          new Limit("WriteBps", "writeBpsPerGiB", "write_bps"));

  private static final Set<String> PARAMETERS = new TreeSet<>(Set.of(BASE_SIZE));
  private static final Set<String> STORED = new TreeSet<>(Set.of(STORED_BASE_SIZE));

  static {
    for (Limit limit : LIMITS) {
      PARAMETERS.addAll(List.of(limit.base(), limit.max(), limit.perGiB()));
      STORED.add(limit.conf());
      STORED.addAll(limit.stored());
    }
  }

  private QosRules() {}

  /** The metadata that rules and their limits have. */
  static Set<String> stored() {
    return STORED;
  }

  /** The parameters that make a rule. */
  static Set<String> parameters() {
    return PARAMETERS;
  }

  /**
   * Reads the rules in parameters, of which others are ignored.
   *
   * @param where the parameters stand, for messages
   * @return the image's metadata to set; an empty value takes a key away
   * @throws VolumeException INVALID_ARGUMENT for a value that is no whole number, and for a rule
   *     that can be meant in several ways
   */
  static Map<String, String> parse(String where, Map<String, String> parameters) {
    Numbers numbers = new Numbers(where, parameters);
    Optional<Long> baseSize = numbers.find(BASE_SIZE);
    Map<String, String> metadata = new TreeMap<>();
    for (Limit limit : LIMITS) {
      Optional<Long> base = numbers.find(limit.base());
      Optional<Long> max = numbers.find(limit.max());
      Optional<Long> perGiB = numbers.find(limit.perGiB());
      if (base.isEmpty()) {
        numbers.require(max.isEmpty(), limit.max() + " needs " + limit.base());
        numbers.require(perGiB.isEmpty(), limit.perGiB() + " needs " + limit.base());
        continue;
      }
      numbers.require(
          perGiB.isEmpty() || baseSize.isPresent(), limit.perGiB() + " needs " + BASE_SIZE);
      numbers.require(
          perGiB.isEmpty() || base.get() > 0,
          limit.base() + " is 0, no limit: no " + limit.perGiB() + " can be added to that");
      numbers.require(
          max.isEmpty() || max.get() >= base.get(), limit.max() + " is below " + limit.base());
      metadata.put(limit.storedBase(), text(base));
      metadata.put(limit.storedMax(), text(max));
      metadata.put(limit.storedPerGiB(), text(perGiB));
    }
    numbers.require(
        baseSize.isEmpty() || !metadata.isEmpty(), BASE_SIZE + " needs a limit, such as baseIops");
    baseSize.ifPresent(size -> metadata.put(STORED_BASE_SIZE, Long.toString(size)));
    return metadata;
  }

  private static String text(Optional<Long> number) {
    return number.map(String::valueOf).orElse("");
  }

  /**
   * Refuses a limit that is given as a number and by a rule.
   *
   * @param given the metadata that numbers set
   * @param rules the metadata that rules set
   * @throws VolumeException INVALID_ARGUMENT
   */
  static void requireApart(Map<String, String> given, Map<String, String> rules) {
    for (Limit limit : LIMITS) {
      if (given.containsKey(limit.conf()) && rules.containsKey(limit.storedBase())) {
        throw VolumeException.invalid(
            "mutable_parameters: " + limit.base() + " and a fixed limit of the same were given");
      }
    }
  }

  /**
   * Takes rules away whose limit is given otherwise.
   *
   * @param rules the metadata that rules set
   * @param given the metadata that comes instead
   */
  static void withoutReplaced(Map<String, String> rules, Map<String, String> given) {
    LIMITS.stream()
        .filter(limit -> given.containsKey(limit.conf()))
        .forEach(limit -> rules.keySet().removeAll(limit.stored()));
  }

  /**
   * Changes the metadata of an image past its exclusive lock, with the limits that follow from the
   * rules; a limit that is set itself ends its rule. Watchers are told also when nothing changed,
   * as an earlier call may have been interrupted before. One round trip for an image without rules
   * and changes.
   *
   * @param changes metadata to set; an empty value takes a key away
   * @param size of the image, in bytes; asked for when there is a rule
   */
  static void apply(
      OpenImage volume, String imageId, Map<String, String> changes, LongSupplier size) {
    Set<String> keys = new TreeSet<>(STORED);
    keys.addAll(changes.keySet());
    Map<String, String> present = HeaderMetadata.read(volume.pool().io(), imageId, keys);
    Map<String, String> wanted = new TreeMap<>(changes);
    LIMITS.stream()
        .filter(limit -> changes.containsKey(limit.conf()))
        .filter(limit -> !changes.containsKey(limit.storedBase()))
        .flatMap(limit -> limit.stored().stream())
        .forEach(key -> wanted.put(key, ""));
    Map<String, String> rules = new HashMap<>(present);
    rules.putAll(wanted);
    wanted.putAll(limits(volume.volumeId(), rules, size));
    if (wanted.isEmpty()) {
      return;
    }
    Map<String, String> set = new TreeMap<>();
    List<String> removed = new ArrayList<>();
    wanted.forEach(
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
    HeaderNotification.tellWatchers(volume.pool(), imageId);
  }

  private static Map<String, String> limits(
      String volumeId, Map<String, String> rules, LongSupplier size) {
    Map<String, String> limits = new TreeMap<>();
    for (Limit limit : LIMITS) {
      try {
        stored(rules, limit.storedBase())
            .map(base -> limit.of(base, rules, size))
            .ifPresent(value -> limits.put(limit.conf(), Long.toString(value)));
      } catch (NumberFormatException e) {
        LOG.warn(
            "volume {}: its metadata have no usable rule for {}: {}",
            volumeId,
            limit.conf(),
            PlainText.show(String.valueOf(e.getMessage())));
      }
    }
    return limits;
  }

  private static Optional<Long> stored(Map<String, String> rules, String key) {
    return Optional.ofNullable(rules.get(key)).filter(value -> !value.isEmpty()).map(Long::valueOf);
  }

  /**
   * One kind of limit.
   *
   * @param suffix of the parameters {@code base...} and {@code max...}
   * @param perGiB the third parameter
   * @param stem of the keys in the metadata
   */
  private record Limit(String suffix, String perGiB, String stem) {
    String base() {
      return "base" + suffix;
    }

    String max() {
      return "max" + suffix;
    }

    String conf() {
      return "conf_rbd_qos_" + stem + "_limit";
    }

    String storedBase() {
      return "rbd_base_qos_" + stem + "_limit";
    }

    String storedMax() {
      return "rbd_max_qos_" + stem + "_limit";
    }

    String storedPerGiB() {
      return "rbd_" + stem + "_per_gib_limit";
    }

    List<String> stored() {
      return List.of(storedBase(), storedMax(), storedPerGiB());
    }

    /** The limit of an image of a size, by its rules; never below the base. */
    long of(long base, Map<String, String> rules, LongSupplier size) {
      Optional<Long> perGiB = QosRules.stored(rules, storedPerGiB());
      Optional<Long> baseSize = QosRules.stored(rules, STORED_BASE_SIZE);
      if (perGiB.isEmpty() || baseSize.isEmpty()) {
        return base;
      }
      long more = Math.max(0, size.getAsLong() - baseSize.get()) / GIB;
      long limit;
      try {
        limit = Math.addExact(base, Math.multiplyExact(more, perGiB.get()));
      } catch (ArithmeticException e) {
        limit = Long.MAX_VALUE;
      }
      return Math.max(
          base, Math.min(limit, QosRules.stored(rules, storedMax()).orElse(Long.MAX_VALUE)));
    }
  }

  /** The numbers among parameters; what is blank is not there. */
  private record Numbers(String where, Map<String, String> parameters) {
    Optional<Long> find(String key) {
      return Optional.ofNullable(parameters.get(key))
          .map(String::strip)
          .filter(value -> !value.isEmpty())
          .map(value -> Long.parseLong(MutableParameters.number(where, key, value)));
    }

    void require(boolean condition, String problem) {
      if (!condition) {
        throw VolumeException.invalid(where + ": " + problem);
      }
    }
  }
}
