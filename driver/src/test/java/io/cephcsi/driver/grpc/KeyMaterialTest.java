package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyMaterialTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==",
        "AQDYxsBgAAAAABAAtooshort==",
        "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg",
        "AgDYxsBgAAAAACAAZm9vYmFyYmF6cXV4Zm9vYmZvb2JhcmJhenF1eGZvb2I=",
        "ZZZYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==",
      })
  void keysAreHiddenWhereverTheyStand(String key) {
    for (String text : List.of("%s", "user client.%s is unknown", "a=%s,b", "\"%s\"")) {
      assertThat(KeyMaterial.hide(String.format(text, key)))
          .isEqualTo(String.format(text, "***stripped***"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0001-0024-b27f4eaa-0000-0000-0000-000000000001-0000000000000001-f2a7e6d0-1111-2222-3333",
        "/var/lib/kubelet/plugins/kubernetes.io/csi/rbd.csi.ceph.com/AQaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "pvc-b27f4eaa-1111-2222-3333-444444444444",
      })
  void otherTextStays(String text) {
    assertThat(KeyMaterial.hide(text)).isEqualTo(text);
  }

  @Test
  void theSecretsOfTheRequestAreHidden() {
    assertThat(KeyMaterial.hide("pool correct horse is unknown", List.of("correct horse")))
        .isEqualTo("pool ***stripped*** is unknown");
  }
}
