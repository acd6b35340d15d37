package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CredentialsTest {
  private static final String KEY = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";

  @Test
  void userAndKeyComeFromTheSecrets() {
    assertThat(Credentials.fromSecrets(Map.of("userID", "csi", "userKey", KEY, "other", "x")))
        .isEqualTo(new Credentials("csi", KEY));
  }

  @Test
  void thoseOfKubernetesInTreePluginAreTakenToo() {
    assertThat(Credentials.fromUserSecrets(Map.of("key", KEY)))
        .isEqualTo(new Credentials("admin", KEY));
    assertThat(Credentials.fromSecrets(Map.of("key", KEY, "adminId", "kube")))
        .isEqualTo(new Credentials("kube", KEY));
    assertThatThrownBy(() -> Credentials.fromSecrets(Map.of("userID", "csi", "key", KEY)))
        .isInstanceOf(VolumeException.class);
  }

  @Test
  void theNameThatCephShowsIsTakenToo() {
    assertThat(Credentials.fromSecrets(Map.of("userID", "client.csi", "userKey", KEY)))
        .isEqualTo(new Credentials("csi", KEY));
  }

  @Test
  void theNewlineOfABase64EncodedFileDoesNotMatter() {
    assertThat(Credentials.fromSecrets(Map.of("userID", "csi\n", "userKey", KEY + "\n")))
        .isEqualTo(new Credentials("csi", KEY));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a,secret=x", "a b", "a\nb", "a\"b", "a'b", "a=b", "-a", "a/b", "a\\b", "ä", KEY})
  void anIdThatWouldBeMoreThanOneOptionIsRefusedAndNotShown(String id) {
    assertThatThrownBy(() -> Credentials.fromSecrets(Map.of("userID", id, "userKey", KEY)))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAUTHENTICATED))
        .hasMessageNotContaining(id);
  }

  @Test
  void idsAsPeopleChooseThemAreTaken() {
    for (String id : List.of("csi-rbd-node.1", "openstack:cinder", "a_b@c", "x".repeat(255))) {
      assertThat(Credentials.fromSecrets(Map.of("userID", id, "userKey", KEY)).userId())
          .isEqualTo(id);
    }
  }

  @Test
  void keysMayHaveAnyLength() {
    String longer = "A".repeat(60);
    assertThat(Credentials.fromSecrets(Map.of("userID", "csi", "userKey", longer)).key())
        .isEqualTo(longer);
  }

  @Test
  void theTypeOfAKeyIsInItsFirstBytes() {
    byte[] newer = new byte[44];
    newer[0] = 2;
    assertThat(new Credentials("csi", Base64.getEncoder().encodeToString(newer)).isAes256k())
        .isTrue();
    for (String other : List.of(KEY, "Ag", "no key at all", "AgF" + "A".repeat(57))) {
      assertThat(new Credentials("csi", other).isAes256k()).as(other).isFalse();
    }
  }

  @Test
  void withoutBothTheCallerIsUnauthenticated() {
    for (Map<String, String> secrets :
        List.of(
            Map.<String, String>of(),
            Map.of("userID", "csi"),
            Map.of("userKey", KEY),
            Map.of("userID", "", "userKey", KEY),
            Map.of("userID", " ", "userKey", KEY),
            Map.of("userID", "client.", "userKey", KEY),
            Map.of("userID", "csi", "userKey", ""),
            Map.of("userID", "csi", "userKey", "\n"),
            Map.of("adminID", "csi", "adminKey", KEY))) {
      assertThatThrownBy(() -> Credentials.fromSecrets(secrets))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAUTHENTICATED))
          .hasMessageContaining("userID")
          .hasMessageContaining("userKey")
          .hasMessageNotContaining(KEY);
    }
  }

  @Test
  void theKeyIsNotShown() {
    assertThat(new Credentials("csi", KEY)).hasToString("client.csi");
    assertThat(String.valueOf(List.of(new Credentials("csi", KEY)))).doesNotContain(KEY);
  }
}
