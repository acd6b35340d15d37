package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MigratedVolumeTest {
  private static final String CLUSTER = "mig_mons-b7f67366bb43f32e07d8a261a7840da9";
  private static final String UUID = "_image-e0b45b52-7e09-47d3-8f1b-806995fa4412";

  @Test
  void theHandleSaysWhereTheImageIs() {
    String handle = CLUSTER + UUID + "_706f6f6c5f7265706c6963615f706f6f6c";
    assertThat(MigratedVolume.parse(handle))
        .contains(
            new MigratedVolume(
                handle,
                "b7f67366bb43f32e07d8a261a7840da9",
                "pool_replica_pool",
                "kubernetes-dynamic-pvc-e0b45b52-7e09-47d3-8f1b-806995fa4412"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        CLUSTER + UUID,
        CLUSTER + UUID + "_",
        CLUSTER + UUID + "_7",
        CLUSTER + UUID + "_zz",
        CLUSTER + UUID + "_2f", // a pool /
        CLUSTER + UUID + "_2e2e",
        CLUSTER + "_image-../../x_726264",
        CLUSTER + "_image-_726264",
        "mig_mons-" + UUID + "_726264",
        "x" + CLUSTER + UUID + "_726264",
        "0001-000c-test-cluster-0000000000000001-e0b45b52-7e09-47d3-8f1b-806995fa4412"
      })
  void whatIsNoneIsNotTakenForOne(String handle) {
    assertThat(MigratedVolume.parse(handle)).isEmpty();
  }
}
