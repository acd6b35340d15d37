package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The parameters of a CephFS StorageClass, checked.
 *
 * @param clusterId the cluster in the configuration
 * @param fileSystem the name of the file system
 * @param pool the pool of the files; empty for the file system's default
 * @param namePrefix begins the name of the subvolume
 * @param backingSnapshot whether a volume that is only read shows its snapshot instead of a copy;
 *     empty when nothing is said
 * @param encryption how its files are encrypted; empty when they are not
 * @param owner who owns the volume, where the CO says it
 * @param context what the volume's context repeats of the parameters
 */
public record CephFsParameters(
    String clusterId,
    String fileSystem,
    Optional<String> pool,
    String namePrefix,
    Optional<Boolean> backingSnapshot,
    Optional<EncryptionRequest> encryption,
    Optional<String> owner,
    Map<String, String> context) {
  /** Begins the name of a subvolume unless the StorageClass says otherwise. */
  public static final String DEFAULT_PREFIX = "csi-vol-";

  private static final String DEFAULT_SNAPSHOT_PREFIX = "csi-snap-";
  private static final String OWNER = SidecarKeys.PREFIX + "pvc/namespace";
  private static final int UUID_LENGTH = 36;
  private static final int LONGEST_NAME = 255; // NAME_MAX

  /** Copies the context. */
  public CephFsParameters {
    context = Map.copyOf(context);
  }

  /**
   * Reads the parameters of a CreateVolume request. Keys that are not known are ignored, as
   * StorageClasses of ceph-csi may have them for its node plugin.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the parameter
   */
  public static CephFsParameters parse(Map<String, String> parameters) {
    String clusterId = required(parameters, "clusterID");
    VolumeId.requireClusterId(clusterId);
    Map<String, String> context = new LinkedHashMap<>();
    parameters.forEach(
        (key, value) -> {
          if (!SidecarKeys.contain(key)) {
            context.put(key, value);
          }
        });
    return new CephFsParameters(
        clusterId,
        CheckedName.of("parameters: fsName", required(parameters, "fsName")).toString(),
        given(parameters, "pool")
            .map(pool -> CheckedName.ofExisting("parameters: pool", pool).toString()),
        namePrefix(parameters, "volumeNamePrefix", DEFAULT_PREFIX),
        Booleans.given("parameters", parameters, "backingSnapshot"),
        EncryptionRequest.parseOfCephFs("parameters", parameters),
        Optional.ofNullable(parameters.get(OWNER)).filter(owner -> !owner.isEmpty()),
        context);
  }

  /** What begins the names of snapshots: a parameter of the VolumeSnapshotClass, or the usual. */
  public static String snapshotPrefix(Map<String, String> parameters) {
    return namePrefix(parameters, "snapshotNamePrefix", DEFAULT_SNAPSHOT_PREFIX);
  }

  private static String namePrefix(Map<String, String> parameters, String key, String usual) {
    String prefix =
        CheckedName.of("parameters: " + key, given(parameters, key).orElse(usual)).toString();
    if (prefix.length() + UUID_LENGTH > LONGEST_NAME
        || prefix.startsWith(".")
        || prefix.startsWith("_")) {
      throw VolumeException.invalid(
          "parameters: "
              + key
              + " must have at most "
              + (LONGEST_NAME - UUID_LENGTH)
              + " bytes, and not begin with . or _");
    }
    return prefix;
  }

  private static String required(Map<String, String> parameters, String key) {
    return given(parameters, key)
        .orElseThrow(() -> VolumeException.invalid("parameters: " + key + " is required"));
  }

  private static Optional<String> given(Map<String, String> parameters, String key) {
    return Optional.ofNullable(parameters.get(key)).filter(value -> !value.isBlank());
  }

  /** What the journal records of the owner and the encryption. */
  Map<String, String> attributes() {
    Map<String, String> attributes = new LinkedHashMap<>();
    owner.ifPresent(name -> attributes.put(JournalEntry.OWNER, name));
    encryption.ifPresent(wanted -> attributes.putAll(wanted.attributes()));
    return attributes;
  }

  /** The context of a volume's answer: what the nodes need to find its data. */
  Map<String, String> contextOf(JournalEntry entry, String path) {
    Map<String, String> answer = new LinkedHashMap<>(context);
    answer.put("subvolumeName", entry.name());
    answer.put("subvolumePath", path);
    answer.putAll(EncryptionRequest.context(encryption, owner));
    return answer;
  }
}
