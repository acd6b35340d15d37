package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class CephFsParametersTest {
  private static Map<String, String> parameters(String... more) {
    Map<String, String> parameters = new HashMap<>(Map.of("clusterID", "c", "fsName", "fs"));
    for (int i = 0; i < more.length; i += 2) {
      parameters.put(more[i], more[i + 1]);
    }
    return parameters;
  }

  private static void assertInvalid(String text, Map<String, String> parameters) {
    assertThatThrownBy(() -> CephFsParameters.parse(parameters))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(text);
  }

  @Test
  void theContextRepeatsAllButWhatKubernetesSays() {
    CephFsParameters parsed =
        CephFsParameters.parse(
            parameters("pool", "data", "mounter", "fuse", "csi.storage.k8s.io/pvc/name", "claim"));
    assertThat(parsed.pool()).contains("data");
    assertThat(parsed.namePrefix()).isEqualTo("csi-vol-");
    assertThat(parsed.backingSnapshot()).isEmpty();
    assertThat(parsed.context())
        .isEqualTo(Map.of("clusterID", "c", "fsName", "fs", "pool", "data", "mounter", "fuse"));
  }

  @Test
  void whatIsMissingOrCannotBeMeantIsNamed() {
    assertInvalid("clusterID", Map.of("fsName", "fs"));
    assertInvalid("fsName", Map.of("clusterID", "c"));
    assertInvalid("backingSnapshot", parameters("backingSnapshot", "maybe"));
    for (String value : new String[] {"yes", " true", ""}) {
      assertInvalid("encrypted", parameters("encrypted", value));
    }
    assertInvalid("encryptionType", parameters("encrypted", "true", "encryptionType", "block"));
    assertInvalid("encryptionType", parameters("encrypted", "true", "encryptionType", "files"));
    assertInvalid("encryptionCipher", parameters("encrypted", "true", "encryptionCipher", "x"));
    assertInvalid("mounter", parameters("encrypted", "true", "mounter", "fuse"));
    assertThat(CephFsParameters.parse(parameters("backingSnapshot", "F")).backingSnapshot())
        .contains(false);
    for (String prefix : new String[] {"a/b", ".a", "_a", "n".repeat(220)}) {
      assertInvalid("volumeNamePrefix", parameters("volumeNamePrefix", prefix));
    }
  }

  @Test
  void filesAreEncryptedByTheKmsThatIsNamedAndTheOwnerIsRecorded() {
    CephFsParameters plain = CephFsParameters.parse(parameters("encrypted", "F"));
    assertThat(plain.encryption()).isEmpty();
    assertThat(plain.attributes()).isEmpty();
    CephFsParameters parsed =
        CephFsParameters.parse(
            parameters(
                "encrypted",
                "T",
                "encryptionKMSID",
                "vault-1",
                "csi.storage.k8s.io/pvc/namespace",
                "shop"));
    assertThat(parsed.attributes())
        .isEqualTo(
            Map.of(
                "csi.volume.encryptKMS",
                "vault-1",
                "csi.volume.encryptionType",
                "file",
                "csi.volume.owner",
                "shop"));
    assertThat(
            CephFsParameters.parse(parameters("encrypted", "1", "encryptionType", "file"))
                .attributes())
        .containsEntry("csi.volume.encryptKMS", "default");
  }

  @Test
  void aSourceIsShownToThoseWhoOnlyReadUnlessTheClassSaysOtherwise() {
    assertThat(request(true).wantsShallow()).isTrue();
    assertThat(request(false).wantsShallow()).isFalse();
    assertThat(request(true, "backingSnapshot", "false").wantsShallow()).isFalse();
    assertThatThrownBy(() -> request(false, "backingSnapshot", "true"))
        .hasMessageContaining("backingSnapshot");
    assertThatThrownBy(() -> request(true, "clusterID", "other")).hasMessageContaining("other");
  }

  private static CephFsRequest request(boolean onlyRead, String... more) {
    return new CephFsRequest(
        "pvc",
        CephFsParameters.parse(parameters(more)),
        CapacityRange.ANY,
        Optional.of(new ContentSource.OfSnapshot(new VolumeId("c", 1, new UUID(1, 2)))),
        onlyRead,
        Optional.empty());
  }
}
