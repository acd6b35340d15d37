package io.cephcsi.driver.rbd.parameters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RbdParametersTest {
  private static final String PREFIX = "parameters: ";

  private static RbdParameters parse(String... more) {
    return RbdParameters.parse(parameters(more));
  }

  private static Map<String, String> parameters(String... more) {
    Map<String, String> parameters = new HashMap<>(Map.of("clusterID", "c1", "pool", "rbd"));
    for (int i = 0; i < more.length; i += 2) {
      parameters.put(more[i], more[i + 1]);
    }
    return parameters;
  }

  @Test
  void clusterAndPoolAreEnough() {
    RbdParameters parsed = parse();
    assertThat(parsed.clusterId()).isEqualTo("c1");
    assertThat(parsed.pool()).isEqualTo("rbd");
    assertThat(parsed.namePrefix()).isEqualTo("csi-vol-");
    assertThat(parsed.owner()).isEmpty();
    assertThat(parsed.options().features().orElseThrow())
        .containsExactlyInAnyOrder(
            ImageFeature.LAYERING,
            ImageFeature.EXCLUSIVE_LOCK,
            ImageFeature.OBJECT_MAP,
            ImageFeature.FAST_DIFF,
            ImageFeature.DEEP_FLATTEN);
    assertThat(parsed.options().dataPool()).isEmpty();
    assertThat(parsed.options().order()).isEmpty();
  }

  @Test
  void theImageIsMadeAsTheStorageClassSays() {
    RbdParameters parsed =
        parse(
            "dataPool", "ec",
            "imageFeatures", "layering, exclusive-lock,journaling",
            "volumeNamePrefix", "pv-",
            "objectSize", "65536",
            "stripeUnit", "4096",
            "stripeCount", "8",
            "csi.storage.k8s.io/pvc/namespace", "shop");
    assertThat(parsed.options().dataPool()).contains("ec");
    assertThat(parsed.options().features().orElseThrow())
        .containsExactlyInAnyOrder(
            ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK, ImageFeature.JOURNALING);
    assertThat(parsed.namePrefix()).isEqualTo("pv-");
    assertThat(parsed.options().order()).hasValue(16);
    assertThat(parsed.options().stripeUnit()).hasValue(4096);
    assertThat(parsed.options().stripeCount()).hasValue(8);
    assertThat(parsed.owner()).contains("shop");
  }

  @Test
  void theContextRepeatsWhatTheNodeNeedsAndNotWhatKubernetesAdds() {
    RbdParameters parsed =
        parse(
            "mounter", "rbd-nbd",
            "mapOptions", "krbd:lock_on_read",
            "csi.storage.k8s.io/pv/name", "pv-1",
            "csi.storage.k8s.io/pvc/name", "pvc-1",
            "csi.storage.k8s.io/pvc/namespace", "shop",
            "csi.storage.k8s.io/fstype", "ext4",
            "csi.storage.k8s.io/provisioner-secret-name", "secret");
    assertThat(parsed.context())
        .containsOnly(
            Map.entry("clusterID", "c1"),
            Map.entry("pool", "rbd"),
            Map.entry("mounter", "rbd-nbd"),
            Map.entry("mapOptions", "krbd:lock_on_read"));
  }

  @Test
  void emptyValuesAreAsIfNotGiven() {
    assertThat(
            parse(
                "dataPool", "",
                "imageFeatures", "",
                "volumeNamePrefix", "",
                "objectSize", "",
                "stripeUnit", " ",
                "stripeCount", "",
                "csi.storage.k8s.io/pvc/namespace", ""))
        .satisfies(
            parsed -> {
              assertThat(parsed.options().dataPool()).isEmpty();
              assertThat(parsed.namePrefix()).isEqualTo("csi-vol-");
              assertThat(parsed.owner()).isEmpty();
            });
    assertThat(parse("encrypted", "false").encryption()).isEmpty();
    for (String yes : List.of("true", "True", "TRUE", "1", "t", "T")) {
      assertThat(parse("encrypted", yes).encryption().orElseThrow().kmsId()).isEqualTo("default");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"clusterID", "pool", "dataPool", "volumeNamePrefix", "imageFeatures"})
  void controlCharactersAreRefused(String key) {
    for (String value : List.of("a\0", "\0", "a\nb", "\u202Ea")) {
      assertThatThrownBy(() -> parse(key, value))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
          .hasMessageContaining(key)
          .hasMessageMatching("\\P{Cntrl}{1,300}");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "clusterID, ''",
    "clusterID, ' '",
    "pool, ''",
    "encrypted, yes",
    "encrypted, ' true'",
    "encrypted, ''",
    "volumeNamePrefix, a/b",
    "volumeNamePrefix, a@b",
    "volumeNamePrefix, 'a b'",
    "volumeNamePrefix, -a",
    "pool, a/b",
    "pool, ..",
    "dataPool, a/b",
    "volumeNamePrefix, 123456789-123456789-123456789-123456789-123456789-123456789-",
    "imageFeatures, 'layering,flying'",
    "imageFeatures, 'layering,'",
    "imageFeatures, 'LAYERING'",
    "imageFeatures, 'data-pool'",
    "imageFeatures, object-map",
    "imageFeatures, 'exclusive-lock,fast-diff'",
    "imageFeatures, journaling",
    "objectSize, 4095",
    "objectSize, 5000",
    "objectSize, 67108864",
    "objectSize, 4MiB",
    "objectSize, -4096",
    "stripeUnit, 4096",
    "stripeCount, 2"
  })
  void whatCannotBeMeantIsRefusedByName(String key, String value) {
    assertThatThrownBy(() -> parse(key, value))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageStartingWith(PREFIX)
        .hasMessageContaining(key);
  }

  @ParameterizedTest
  @CsvSource({
    "4194304, 256, 1",
    "4194304, 5000, 1",
    "4194304, 8388608, 1",
    "4194304, 4096, 0",
    "4194304, 4096, -1",
    "4194304, 0, 1",
    "4194304, -4096, 1",
    "4194304, 65536, 65537",
    "4194304, 4096, 4097",
    "65536, 131072, 2"
  })
  void stripesThatDoNotFitTheObjectAreRefused(String objectSize, String unit, String count) {
    assertThatThrownBy(
            () -> parse("objectSize", objectSize, "stripeUnit", unit, "stripeCount", count))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("stripe");
  }

  @Test
  void theLongestNameOfAnImageFitsRbd() {
    assertThat(parse("volumeNamePrefix", "p".repeat(59)).namePrefix()).hasSize(59);
    assertThatThrownBy(() -> parse("volumeNamePrefix", "p".repeat(60)))
        .isInstanceOf(VolumeException.class);
    assertThatThrownBy(() -> parse("volumeNamePrefix", "é".repeat(40))) // 80 bytes
        .isInstanceOf(VolumeException.class);
  }

  @Test
  void aClusterIdThatNoVolumeIdCanHoldIsRefusedBeforeAnythingIsMade() {
    assertThatThrownBy(() -> parse("clusterID", "c".repeat(65)))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("clusterID");
  }
}
