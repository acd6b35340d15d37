package io.cephcsi.driver.kms;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * How one tenant's passphrases are kept in Vault, of the section, what it has for the tenant, and
 * what the tenant configures. It decides who gets what: a part of the key of what is kept.
 *
 * @param address of the server, without a slash at its end
 * @param backend {@code kv} or {@code kv-v2}; empty: Vault is asked
 * @param mount the path of the secrets engine
 * @param space Vault's namespace; may be empty
 * @param loginSpace the namespace for the login; may be empty
 * @param destroys whether removal takes all versions
 * @param serverName the name that the server's certificate has, when it is not that of the address
 * @param verifies whether the server must have a certificate that is trusted
 * @param ca where the certificate is by which the server's is trusted
 * @param certificate the Secret with the client's certificate
 * @param key the Secret with its key
 * @param authMount where the login is mounted
 * @param role for the login
 * @param path what comes before the volume's id
 * @param token the Secret with the tenant's token
 * @param account the tenant's service account
 * @param tenantChoseServer whether the address is the tenant's own choice
 * @param tenantChoseCa whether {@code ca} is
 */
record VaultSettings(
    String address,
    Optional<String> backend,
    String mount,
    String space,
    String loginSpace,
    boolean destroys,
    Optional<String> serverName,
    boolean verifies,
    Optional<String> ca,
    Optional<String> certificate,
    Optional<String> key,
    String authMount,
    String role,
    String path,
    String token,
    String account,
    boolean tenantChoseServer,
    boolean tenantChoseCa) {
  private static final Map<String, String> OF_ENVIRONMENT =
      Map.of(
          "VAULT_ADDR", "vaultAddress",
          "VAULT_BACKEND", "vaultBackend",
          "VAULT_BACKEND_PATH", "vaultBackendPath",
          "VAULT_DESTROY_KEYS", "vaultDestroyKeys",
          "VAULT_CACERT", "vaultCAFromSecret",
          "VAULT_TLS_SERVER_NAME", "vaultTLSServerName",
          "VAULT_CLIENT_CERT", "vaultClientCertFromSecret",
          "VAULT_CLIENT_KEY", "vaultClientCertKeyFromSecret",
          "VAULT_AUTH_NAMESPACE", "vaultAuthNamespace",
          "VAULT_NAMESPACE", "vaultNamespace");
  private static final String SKIP_VERIFY = "VAULT_SKIP_VERIFY";
  private static final String LOGIN_PREFIX = "/v1/auth/";
  private static final String LOGIN_SUFFIX = "/login";

  /** A section with the names of fields of Vault's environment as those of ceph-csi. */
  static Section translated(Section section) {
    Map<String, JsonNode> fields = new LinkedHashMap<>();
    section
        .fields()
        .forEach(
            (field, value) -> {
              if (!field.equals(SKIP_VERIFY)) {
                fields.put(OF_ENVIRONMENT.getOrDefault(field, field), value);
              }
            });
    if (section.fields().containsKey(SKIP_VERIFY)) {
      boolean skips = section.isTrue(SKIP_VERIFY, false);
      fields.putIfAbsent("vaultCAVerify", TextNode.valueOf(String.valueOf(!skips)));
    }
    for (Map.Entry<String, String> name : OF_ENVIRONMENT.entrySet()) {
      JsonNode own = section.fields().get(name.getValue());
      if (own != null) {
        fields.put(name.getValue(), own);
      }
    }
    return new Section(section.name(), fields);
  }

  /** The name of the ConfigMap that a tenant may have. */
  static String tenantConfig(Section section) {
    return section.get("tenantConfigName", "ceph-csi-kms-config");
  }

  /** The name of the Secret with a tenant's token. */
  static String token(Section section) {
    return section.get("tenantTokenName", "ceph-csi-kms-token");
  }

  /** The name of a tenant's service account. */
  static String account(Section section) {
    return section.get("tenantSAName", "ceph-csi-vault-sa");
  }

  /**
   * Of a section, with what a tenant configured.
   *
   * @param own the fields of the tenant's ConfigMap; none without
   * @throws VolumeException INVALID_ARGUMENT naming a wrong field
   */
  static VaultSettings of(VaultKind kind, Section section, Section own) {
    Section all = section.with(own, kind.ofTenant());
    Section where = own.fields().isEmpty() ? all : new Section(own.name(), all.fields());
    Optional<String> backend =
        where.find("vaultBackend").map(word -> word.equals("kv-v1") ? "kv" : word);
    if (backend.isPresent() && !backend.get().matches("kv|kv-v2")) {
      throw where.wrong("vaultBackend", "must be kv, kv-v1 or kv-v2");
    }
    Optional<String> certificate = where.find("vaultClientCertFromSecret");
    Optional<String> key = where.find("vaultClientCertKeyFromSecret");
    if (certificate.isPresent() != key.isPresent()) {
      throw where.wrong(
          "vaultClientCertFromSecret", "and vaultClientCertKeyFromSecret belong together");
    }
    String space = where.get("vaultNamespace", "");
    return new VaultSettings(
        address(where),
        backend,
        mount(where),
        space,
        header(where, "vaultAuthNamespace", space),
        where.isTrue("vaultDestroyKeys", true),
        where.find("vaultTLSServerName").map(host -> where.serverName("vaultTLSServerName", host)),
        where.isTrue("vaultCAVerify", true),
        where.find("vaultCAFromSecret"),
        certificate,
        key,
        authMount(where),
        where.get("vaultRole", "csi-kubernetes"),
        where.get("vaultPassphrasePath", ""),
        token(where),
        account(where),
        own.fields().containsKey("vaultAddress"),
        own.fields().containsKey("vaultCAFromSecret"));
  }

  private static String mount(Section section) {
    String path =
        section.find("vaultPassphraseRoot").map(VaultSettings::withoutVersion).orElse("secret/");
    return section.get("vaultBackendPath", path);
  }

  private static String withoutVersion(String root) {
    return root.startsWith("/v1/") ? root.substring("/v1/".length()) : root;
  }

  private static String authMount(Section section) {
    String path = section.get("vaultAuthPath", LOGIN_PREFIX + "kubernetes" + LOGIN_SUFFIX);
    String mount = path.startsWith(LOGIN_PREFIX) ? path.substring(LOGIN_PREFIX.length()) : path;
    return mount.endsWith(LOGIN_SUFFIX)
        ? mount.substring(0, mount.length() - LOGIN_SUFFIX.length())
        : mount;
  }

  private static String header(Section section, String field, String otherwise) {
    String value = section.get(field, otherwise);
    if (!value.chars().allMatch(character -> character >= ' ' && character < 127)) {
      throw section.wrong(field, "must be ASCII");
    }
    return value;
  }

  /** Messages do not have the address: it may have a password in it. */
  private static String address(Section section) {
    String text = section.require("vaultAddress");
    try {
      URI uri = new URI(text);
      String scheme = String.valueOf(uri.getScheme());
      if (uri.getHost() != null
          && uri.getRawUserInfo() == null
          && uri.getRawQuery() == null
          && uri.getRawFragment() == null
          && PlainText.isPlain(text)
          && (scheme.equalsIgnoreCase("https") || scheme.equalsIgnoreCase("http"))) {
        return text.replaceAll("/+$", "");
      }
    } catch (URISyntaxException e) {
      // as below: the exception has the text
    }
    throw section.wrong(
        "vaultAddress", "must be https://HOST:PORT, without a user name, query or fragment");
  }

  /** Refuses at once what is wrong in a section, but for what a tenant may still set. */
  static void check(VaultKind kind, Section section) {
    KmsTypes.warnOfUnknown(
        section, kind.isOfTenant() ? with(kind.known(), "tenants") : kind.known());
    for (String field : kind.known()) {
      section.find(field);
    }
    for (String field : new String[] {"vaultCAVerify", "vaultDestroyKeys"}) {
      Optional<String> text = section.find(field);
      if (text.isPresent() && Booleans.parse(text.get()).isEmpty()) {
        throw section.wrong(field, "must be true or false");
      }
    }
    if (!kind.isOfTenant()) {
      of(kind, section, new Section(section.name(), Map.of()));
    }
  }

  private static Set<String> with(Set<String> fields, String more) {
    Set<String> all = new LinkedHashSet<>(fields);
    all.add(more);
    return all;
  }
}
