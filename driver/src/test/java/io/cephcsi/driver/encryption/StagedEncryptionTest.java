package io.cephcsi.driver.encryption;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The journal is in a pool that tenants may write to; a PersistentVolume is not. */
class StagedEncryptionTest {
  private static final Map<String, String> OF_CLASS_WITHOUT_KMS =
      Map.of("encrypted", "true", "encryptionTenant", "shop");

  private final StoringKms store = new StoringKms();
  private final List<String> asked = new ArrayList<>();

  /** The id of the KMS that is taken. */
  private String kms(Map<String, String> context, Map<String, String> journal) {
    JournalEntry entry = new JournalEntry(new UUID(0, 1), "pvc-1", "csi-vol-1", journal);
    KmsCatalog catalog =
        id -> {
          asked.add(id);
          return store;
        };
    EncryptionRequest wanted = EncryptionRequest.parse("volume_context", context).orElseThrow();
    assertThat(new StagedEncryption("volume-1", entry, context).kms(wanted, catalog))
        .isSameAs(store);
    return asked.get(asked.size() - 1);
  }

  private static Map<String, String> journal(String kms, String owner) {
    return Map.of("csi.volume.encryptKMS", kms, "csi.volume.owner", owner);
  }

  private void refused(String text, Map<String, String> context, Map<String, String> journal) {
    assertThatThrownBy(() -> kms(context, journal))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining(text);
  }

  @Test
  void theTenantAndTheKmsAreThoseThatTheVolumeWasMadeFor() {
    store.byTenant(true);
    assertThat(kms(OF_CLASS_WITHOUT_KMS, journal("default", "shop"))).isEqualTo("default");
    refused(
        "encryptionTenant \"shop\", the journal \"evil\" (csi.volume.owner), and KMS store is by"
            + " tenant: set csi.volume.owner back to \"shop\", which is safe unless",
        OF_CLASS_WITHOUT_KMS,
        journal("default", "evil"));
    refused(
        "encryptionTenant \"shop\", the journal \"\"",
        OF_CLASS_WITHOUT_KMS,
        Map.of("csi.volume.encryptKMS", "default"));
    refused(
        "encryptionKMSID \"default\", the journal \"evil\"",
        OF_CLASS_WITHOUT_KMS,
        journal("evil", "shop"));
  }

  /** ceph-csi's controller writes the namespace of the claim that a volume is bound to. */
  @Test
  void theTenantDoesNotCountForAKmsWithoutTenants() {
    assertThat(kms(OF_CLASS_WITHOUT_KMS, journal("default", "bound-later"))).isEqualTo("default");
    refused(
        "encryptionKMSID \"default\", the journal \"evil\"",
        OF_CLASS_WITHOUT_KMS,
        journal("evil", "bound-later"));
  }

  /** As one that is made from the names of Kubernetes in the metadata of a mirrored image. */
  @Test
  void encryptedFilesAreThoseOfAnEntryThatSaysSo() {
    Map<String, String> context = Map.of("encrypted", "true", "encryptionType", "file");
    refused("csi.volume.encryptionType", context, Map.of("csi.volume.owner", "shop"));
    assertThat(
            kms(
                context,
                Map.of("csi.volume.encryptKMS", "default", "csi.volume.encryptionType", "file")))
        .isEqualTo("default");
  }

  /** Of ceph-csi, and of this driver before the context named the tenant. */
  @Test
  void contextsWithoutATenantAndEntriesWithoutAKmsAreTakenAsTheyAre() {
    store.byTenant(true);
    Map<String, String> context = Map.of("encrypted", "true", "encryptionKMSID", "vault");
    assertThat(kms(context, journal("vault", "shop"))).isEqualTo("vault");
    assertThat(kms(context, Map.of("csi.volume.owner", "shop"))).isEqualTo("vault");
    assertThat(kms(Map.of("encrypted", "true"), Map.of())).isEqualTo("default");
  }
}
