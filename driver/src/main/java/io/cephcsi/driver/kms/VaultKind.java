package io.cephcsi.driver.kms;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** How a client of Vault says who it is. */
enum VaultKind {
  /** By the service account of the driver's own pod. */
  OWN_ACCOUNT,
  /** By a token that a Secret of the tenant has. */
  TENANT_TOKEN,
  /** By a service account of the tenant. */
  TENANT_ACCOUNT;

  private static final List<String> ALL =
      List.of(
          "vaultAddress",
          "vaultBackend",
          "vaultBackendPath",
          "vaultDestroyKeys",
          "vaultNamespace",
          "vaultAuthNamespace",
          "vaultTLSServerName",
          "vaultCAVerify",
          "vaultCAFromSecret");
  private static final List<String> LOGIN = List.of("vaultAuthPath", "vaultRole");
  private static final List<String> TENANT =
      List.of("tenantConfigName", "vaultClientCertFromSecret", "vaultClientCertKeyFromSecret");

  /** The fields that a section, or an entry of its tenants, may have. */
  Set<String> known() {
    Set<String> known = new LinkedHashSet<>(ALL);
    switch (this) {
      case OWN_ACCOUNT -> {
        known.addAll(LOGIN);
        known.addAll(List.of("vaultPassphraseRoot", "vaultPassphrasePath"));
      }
      case TENANT_TOKEN -> {
        known.addAll(TENANT);
        known.add("tenantTokenName");
      }
      case TENANT_ACCOUNT -> {
        known.addAll(LOGIN);
        known.addAll(TENANT);
        known.add("tenantSAName");
      }
    }
    return known;
  }

  /** The fields that a tenant may set in a ConfigMap of its own. */
  Set<String> ofTenant() {
    Set<String> fields = new LinkedHashSet<>(ALL);
    if (this == TENANT_ACCOUNT) {
      fields.addAll(LOGIN);
      fields.add("tenantSAName");
    }
    return fields;
  }

  /** Whether it is asked for by a tenant. */
  boolean isOfTenant() {
    return this != OWN_ACCOUNT;
  }

  /** Whether it gets its token by a login. */
  boolean logsIn() {
    return this != TENANT_TOKEN;
  }
}
