package io.cephcsi.driver.encryption;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A source's journal entry says as which tenant its passphrase is asked for. */
class SourceTenantTest {
  private final StoringKms store = new StoringKms();
  private final KeyAccess keys = new KeyAccess(id -> store, Map.of());

  private static Map<String, String> parameters(String sourceTenants) {
    return Map.of("encrypted", "true", "encryptionSourceTenants", sourceTenants);
  }

  private static EncryptionRequest allowing(String sourceTenants) {
    return EncryptionRequest.parse("parameters", parameters(sourceTenants)).orElseThrow();
  }

  private void require(EncryptionRequest wanted, Optional<String> tenant, Optional<String> owner) {
    Map<String, String> journal = new HashMap<>(Map.of("csi.volume.encryptKMS", "store"));
    owner.ifPresent(name -> journal.put("csi.volume.owner", name));
    JournalEntry entry = new JournalEntry(new UUID(0, 1), "snap-1", "csi-snap-1", journal);
    keys.requireOwnSource(wanted, tenant, "the source snap-1", entry);
  }

  private void require(String sourceTenants) {
    require(allowing(sourceTenants), Optional.of("shop"), Optional.of("evil"));
  }

  @Test
  void aSourceOfAnotherTenantIsCopiedOnlyIfTheClassAllowsIt() {
    store.byTenant(true);
    for (String others : List.of("", " ", "bank", "bank, evil-2")) {
      assertThatThrownBy(() -> require(others))
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
          .hasMessageContaining(
              "the source snap-1 is of the tenant \"evil\" by its journal entry (csi.volume.owner),"
                  + " the new volume of \"shop\", and KMS \"store\" is by tenant")
          .hasMessageContaining("name that tenant in encryptionSourceTenants");
    }
    for (String allowed : List.of("evil", "bank, evil", " evil ,bank", "*")) {
      require(allowed);
    }
  }

  @Test
  void whatIsOfTheSameTenantOrOfNoKnownOneIsCopied() {
    store.byTenant(true);
    require(allowing(""), Optional.of("shop"), Optional.of("shop"));
    require(allowing(""), Optional.of("shop"), Optional.empty());
    require(allowing(""), Optional.empty(), Optional.of("evil"));
  }

  @Test
  void theTenantDoesNotCountForAKmsWithoutTenants() {
    require("");
  }

  @ParameterizedTest
  @ValueSource(strings = {",", "a,,b", "a,", "*,a", "A", "a b", "-a", "a-", "a.b"})
  void whatIsNoListOfNamespacesIsRefused(String value) {
    Map<String, String> block = parameters(value);
    Map<String, String> files = new HashMap<>(block);
    files.put("encryptionType", "file");
    for (Runnable parse :
        List.<Runnable>of(
            () -> EncryptionRequest.parse("parameters", block),
            () -> EncryptionRequest.parseOfCephFs("parameters", files))) {
      assertThatThrownBy(parse::run)
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
          .hasMessageContaining("parameters: encryptionSourceTenants must be");
    }
  }

  @Test
  void aNameHasAtMost63Characters() {
    String longest = "a".repeat(63);
    assertThat(allowing(longest).sourceTenants()).containsExactly(longest);
    assertThatThrownBy(() -> allowing(longest + "a")).hasMessageContaining("is none");
  }
}
