package io.cephcsi.driver.kms;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The types of KMS that a section may have. */
final class KmsTypes {
  /** The field that has the type. */
  static final String TYPE = "encryptionKMSType";

  /** The older name of that field. */
  static final String PROVIDER = "KMS_PROVIDER";

  private static final Logger LOG = LoggerFactory.getLogger(KmsTypes.class);

  /** By the name of the type, sorted. */
  static final Map<String, Maker> ALL = new TreeMap<>(all());

  private KmsTypes() {}

  private static Map<String, Maker> all() {
    return Map.of(
        "metadata",
        MetadataKms::of,
        "vault",
        VaultKms.of(VaultKind.OWN_ACCOUNT),
        "vaulttokens",
        VaultKms.of(VaultKind.TENANT_TOKEN),
        "vaulttenantsa",
        VaultKms.of(VaultKind.TENANT_ACCOUNT),
        "aws-metadata",
        (id, section, objects) -> AwsKms.byKeys(id, section, objects, CloudServers.usual()),
        "aws-sts-metadata",
        (id, section, objects) -> AwsKms.byRole(id, section, objects, CloudServers.usual()),
        "azure-kv",
        (id, section, objects) -> new AzureKms(id, section, objects, CloudServers.usual()),
        "ibmkeyprotect",
        (id, section, objects) -> new IbmKms(id, section, objects, CloudServers.usual()),
        "kmip",
        KmipKms::new);
  }

  /** Makes a KMS of a section. */
  interface Maker {
    /**
     * Reads the section; calls no server.
     *
     * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming a wrong field
     */
    Kms make(String id, Section section, KubernetesObjects objects);
  }

  /** Says in the log which fields of a section change nothing. */
  static void warnOfUnknown(Section section, Collection<String> known) {
    Set<String> all = new TreeSet<>(known);
    all.add(TYPE);
    all.add(PROVIDER);
    all.add("KMS_SERVICE_NAME"); // a name for users
    Set<String> unknown = section.unknown(all);
    if (!unknown.isEmpty()) {
      LOG.warn("{}: fields that are not known change nothing: {}", section.name(), unknown);
    }
  }
}
