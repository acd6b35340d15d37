package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.image.ImageSizes;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a StorageClass for RBD, checked.
 *
 * @param clusterId the cluster of the configuration
 * @param pool the pool of the image
 * @param journalPool the pool where the name is reserved; that of the image, unless topology chose
 * @param namePrefix begins the image's name
 * @param options how the image is made
 * @param owner who owns the volume, where the CO says it
 * @param labels Kubernetes names for the image's metadata
 * @param context what the volume's context repeats of the parameters
 * @param encryption how it is encrypted; empty if it is not
 * @param topology where the volume will be accessible from; empty for everywhere
 * @param alternatives the same in other pools that would do as well
 */
public record RbdParameters(
    String clusterId,
    String pool,
    String journalPool,
    String namePrefix,
    ImageOptions options,
    Optional<String> owner,
    Map<String, String> labels,
    Map<String, String> context,
    Optional<EncryptionRequest> encryption,
    Map<String, String> topology,
    List<RbdParameters> alternatives) {
  /** Begins the name of an image unless the StorageClass says otherwise. */
  public static final String DEFAULT_PREFIX = "csi-vol-";

  private static final String POOL = "pool";
  private static final String OWNER = SidecarKeys.PREFIX + "pvc/namespace";
  private static final int UUID_LENGTH = 36;
  private static final int MAX_IMAGE_NAME = 95; // RBD_MAX_IMAGE_NAME_SIZE with its zero byte
  private static final int DEFAULT_ORDER = 22; // rbd_default_order
  private static final long MIN_OBJECT_SIZE = 4096;
  private static final long MAX_OBJECT_SIZE = 32L << 20;

  private static final Set<ImageFeature> DEFAULT_FEATURES =
      EnumSet.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF,
          ImageFeature.DEEP_FLATTEN);

  private static final Set<ImageFeature> SUPPORTED_FEATURES =
      EnumSet.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF,
          ImageFeature.DEEP_FLATTEN,
          ImageFeature.JOURNALING);

  private static final Map<ImageFeature, ImageFeature> NEEDS =
      Map.of(
          ImageFeature.OBJECT_MAP, ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.FAST_DIFF, ImageFeature.OBJECT_MAP,
          ImageFeature.JOURNALING, ImageFeature.EXCLUSIVE_LOCK);

  /** Copies the maps. */
  public RbdParameters {
    labels = Map.copyOf(labels);
    context = Map.copyOf(context);
    topology = Map.copyOf(topology);
    alternatives = List.copyOf(alternatives);
  }

  /**
   * Reads the parameters of a CreateVolume request, in the pools that topology allows: the name is
   * reserved in the StorageClass's own pool, or the first of its list if it has none, so that it is
   * the same whichever pool gets the image.
   *
   * @param choices the pools that would do, best first; empty for that of the StorageClass
   */
  public static RbdParameters parse(
      Map<String, String> parameters, List<TopologyPools.Choice> choices) {
    boolean pooled = !parameters.getOrDefault(POOL, "").isBlank();
    if (choices.isEmpty()) {
      if (!pooled && parameters.containsKey(TopologyPools.PARAMETER)) {
        throw VolumeException.invalid(
            "parameters: pool is required where the request names no topology, by which one of "
                + TopologyPools.PARAMETER
                + " would be chosen");
      }
      return parse(parameters);
    }
    Map<String, String> names = new LinkedHashMap<>(parameters);
    if (!pooled) {
      names.put(POOL, TopologyPools.parse(parameters).first());
    }
    List<RbdParameters> placed = new ArrayList<>();
    for (int i = choices.size() - 1; i >= 0; i--) {
      placed.add(0, placed(names, choices.get(i), List.copyOf(placed)));
    }
    return placed.get(0);
  }

  private static RbdParameters placed(
      Map<String, String> parameters, TopologyPools.Choice choice, List<RbdParameters> others) {
    Map<String, String> there = new LinkedHashMap<>(parameters);
    there.put(POOL, choice.pool());
    choice
        .dataPool()
        .ifPresentOrElse(pool -> there.put("dataPool", pool), () -> there.remove("dataPool"));
    return parse(there).with(name(parameters, POOL), choice.topology(), others);
  }

  /** The same with the name in the pool of the image, where ceph-csi has it. */
  public RbdParameters inOwnJournal() {
    return with(pool, topology, alternatives);
  }

  private RbdParameters with(
      String nameIn, Map<String, String> chosen, List<RbdParameters> others) {
    return new RbdParameters(
        clusterId,
        pool,
        nameIn,
        namePrefix,
        options,
        owner,
        labels,
        context,
        encryption,
        chosen,
        others);
  }

  /**
   * Reads the parameters of a CreateVolume request. Keys that are not known are ignored, as
   * StorageClasses of ceph-csi may have them for its node plugin.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the parameter
   */
  public static RbdParameters parse(Map<String, String> parameters) {
    String clusterId = required(parameters, "clusterID");
    VolumeId.requireClusterId(clusterId);
    String pool = name(parameters, POOL);
    Optional<EncryptionRequest> encryption = EncryptionRequest.parse("parameters", parameters);
    encryption.ifPresent(wanted -> wanted.requireShort(clusterId));
    Map<String, String> context = new LinkedHashMap<>();
    parameters.forEach(
        (key, value) -> {
          if (!SidecarKeys.contain(key) && !key.equals(TopologyPools.PARAMETER)) {
            context.put(key, value);
          }
        });
    return new RbdParameters(
        clusterId,
        pool,
        pool,
        namePrefix(parameters, "volumeNamePrefix", DEFAULT_PREFIX),
        options(parameters),
        Optional.ofNullable(parameters.get(OWNER)).filter(owner -> !owner.isEmpty()),
        ImageLabels.of(parameters),
        context,
        encryption,
        Map.of(),
        List.of());
  }

  /**
   * Refuses a size that no image of these options can have.
   *
   * @throws VolumeException OUT_OF_RANGE
   */
  public void requireSize(long bytes) {
    if (encryption.filter(EncryptionRequest::isOfBlocks).isPresent()
        && bytes < EncryptionRequest.SMALLEST) {
      throw new VolumeException(
          VolumeException.Reason.OUT_OF_RANGE,
          "an encrypted volume has at least "
              + EncryptionRequest.SMALLEST
              + " bytes: LUKS takes 16 MiB of them");
    }
    ImageSizes.require(bytes, 1L << options.order().orElse(DEFAULT_ORDER));
  }

  /** What begins the names of images: a parameter, or what is usual. */
  static String namePrefix(Map<String, String> parameters, String key, String usual) {
    String given = parameters.getOrDefault(key, "");
    String prefix =
        CheckedName.of("parameters: " + key, given.isEmpty() ? usual : given).toString();
    if (prefix.length() + UUID_LENGTH > MAX_IMAGE_NAME) {
      throw VolumeException.invalid(
          "parameters: " + key + " must have at most " + (MAX_IMAGE_NAME - UUID_LENGTH) + " bytes");
    }
    return prefix;
  }

  private static ImageOptions options(Map<String, String> parameters) {
    ImageOptions.Builder options = ImageOptions.builder();
    options.features(features(parameters.get("imageFeatures")));
    String dataPool = parameters.get("dataPool");
    if (dataPool != null && !dataPool.isEmpty()) {
      options.dataPool(name(parameters, "dataPool"));
    }
    Optional<Long> objectSize = number(parameters, "objectSize");
    objectSize.ifPresent(
        size -> {
          if (size < MIN_OBJECT_SIZE || size > MAX_OBJECT_SIZE || Long.bitCount(size) != 1) {
            throw VolumeException.invalid(
                "parameters: objectSize must be a power of two from "
                    + MIN_OBJECT_SIZE
                    + " to "
                    + MAX_OBJECT_SIZE
                    + ", not "
                    + size);
          }
          options.objectSizeBytes(size);
        });
    striping(parameters, objectSize.orElse(4L << 20), options);
    return options.build();
  }

  private static void striping(
      Map<String, String> parameters, long objectSize, ImageOptions.Builder options) {
    Optional<Long> unit = number(parameters, "stripeUnit");
    Optional<Long> count = number(parameters, "stripeCount");
    if (unit.isPresent() != count.isPresent()) {
      throw VolumeException.invalid(
          "parameters: stripeUnit and stripeCount must be given together");
    }
    if (unit.isPresent()) {
      if (unit.get() < 512
          || objectSize % unit.get() != 0
          || !ImageLayout.arePossible(count.orElse(0L), objectSize / unit.get())) {
        throw VolumeException.invalid(
            "parameters: stripeUnit must divide the object size "
                + objectSize
                + " and stripeCount must be 1 to 65536, and all objects of a stripe together"
                + " can have 4194304 units");
      }
      options.stripeUnit(unit.get()).stripeCount(count.orElse(1L));
    }
  }

  private static Set<ImageFeature> features(@Nullable String names) {
    if (names == null || names.isBlank()) {
      return DEFAULT_FEATURES;
    }
    Set<ImageFeature> features = EnumSet.noneOf(ImageFeature.class);
    for (String name : names.split(",", -1)) {
      features.add(
          ImageFeature.named(name.strip())
              .filter(SUPPORTED_FEATURES::contains)
              .orElseThrow(
                  () ->
                      VolumeException.invalid(
                          "parameters: imageFeatures: "
                              + PlainText.show(name.strip())
                              + " is not supported")));
    }
    NEEDS.forEach(
        (feature, needed) -> {
          if (features.contains(feature) && !features.contains(needed)) {
            throw VolumeException.invalid(
                "parameters: imageFeatures: " + feature.cephName() + " needs " + needed.cephName());
          }
        });
    return features;
  }

  /** The name of something that must exist, such as a pool. */
  static String name(Map<String, String> parameters, String key) {
    return CheckedName.ofExisting("parameters: " + key, required(parameters, key)).toString();
  }

  static String required(Map<String, String> parameters, String key) {
    String value = parameters.get(key);
    if (value == null || value.isBlank()) {
      throw VolumeException.invalid("parameters: " + key + " is required");
    }
    return value;
  }

  private static Optional<Long> number(Map<String, String> parameters, String key) {
    String value = parameters.get(key);
    if (value == null || value.isBlank()) {
      return Optional.empty();
    }
    try {
      return Optional.of(Long.parseLong(value.strip()));
    } catch (NumberFormatException e) {
      throw VolumeException.invalid(
          "parameters: " + key + " must be a whole number of bytes, not " + PlainText.show(value));
    }
  }
}
