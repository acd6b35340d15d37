package io.cephcsi.driver.docs;

import static org.assertj.core.api.Assertions.assertThatCode;

import io.cephcsi.driver.node.rbd.RbdOptions;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.ReplicationParameters;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse.Entry;
import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

/** The keys that a parser asks its parameters for: what it knows. */
public final class AskedKeys {
  /** What the parsers need at least. */
  static final Map<String, String> RBD = Map.of("clusterID", "c", "pool", "p");

  /** The same for CephFS. */
  public static final Map<String, String> CEPHFS = Map.of("clusterID", "c", "fsName", "f");

  private AskedKeys() {}

  /** Those of a StorageClass for RBD. */
  public static Set<String> ofRbdVolumes() {
    Set<String> keys = of(RbdParameters::parse, RBD);
    keys.addAll(of(TopologyPools::parse, RBD));
    keys.addAll(of(asParser(RbdOptions::require), RBD));
    return keys;
  }

  /** Those of a VolumeSnapshotClass for RBD. */
  public static Set<String> ofRbdSnapshots() {
    return of(SnapshotParameters::parse, RBD);
  }

  /** Those of a VolumeGroupClass. */
  public static Set<String> ofRbdGroups() {
    return of(GroupParameters::parse, RBD);
  }

  /** Those of a VolumeReplicationClass. */
  public static Set<String> ofReplication() {
    return of(ReplicationParameters::parse, Map.of());
  }

  static Function<Map<String, String>, Object> asParser(Consumer<Map<String, String>> check) {
    return parameters -> {
      check.accept(parameters);
      return true;
    };
  }

  /** The keys that a parser asks for, with the given ones there. */
  public static Set<String> of(Function<Map<String, String>, ?> parser, Map<String, String> given) {
    Recording recording = new Recording(given);
    assertThatCode(() -> parser.apply(recording)).doesNotThrowAnyException();
    return recording.asked;
  }

  private static final class Recording extends AbstractMap<String, String> {
    private final Map<String, String> given;
    private final Set<String> asked = new TreeSet<>();

    Recording(Map<String, String> given) {
      this.given = given;
    }

    @Override
    public String get(Object key) {
      asked.add((String) key);
      return given.get(key);
    }

    @Override
    public boolean containsKey(Object key) {
      asked.add((String) key);
      return given.containsKey(key);
    }

    @Override
    public Set<Entry<String, String>> entrySet() {
      return given.entrySet();
    }
  }
}
