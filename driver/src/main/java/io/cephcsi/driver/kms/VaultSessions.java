package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.Tls;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import javax.net.ssl.SSLContext;

/**
 * Connections to the Vaults of one section. What decides whom a tenant reaches and as whom is read
 * at each call; a connection is used again only when all of it is the same. Safe for several
 * threads.
 */
final class VaultSessions {
  private static final int MOST_KEPT = 200;
  private static final Duration KEPT = Duration.ofMinutes(10);

  /** Of a ConfigMap of a tenant: what is kept of it must not fill the memory. */
  private static final int MOST_FIELDS = 100;

  private static final int LONGEST_VALUE = 1024;

  private final String id;
  private final VaultKind kind;
  private final Section section;
  private final KubernetesObjects objects;
  private final Cache<Key, VaultSession> kept =
      Caffeine.newBuilder().maximumSize(MOST_KEPT).expireAfterWrite(KEPT).build();

  /** By tenant; as long as a connection of it is kept, or a call under way. */
  private final Cache<String, Semaphore> places = Caffeine.newBuilder().weakValues().build();

  /** Which ConfigMaps the log has a warning of. */
  private final Cache<String, Boolean> warned =
      Caffeine.newBuilder().maximumSize(MOST_KEPT).expireAfterWrite(Duration.ofHours(1)).build();

  /** What decides access: tenant, settings, and the certificates and key behind their names. */
  private record Key(String tenant, VaultSettings settings, String certificates) {}

  private VaultSessions(String id, VaultKind kind, Section section, KubernetesObjects objects) {
    this.id = id;
    this.kind = kind;
    this.section = section;
    this.objects = objects;
  }

  /**
   * Of a section.
   *
   * @throws VolumeException INVALID_ARGUMENT naming a wrong field
   */
  static VaultSessions of(String id, VaultKind kind, Section section, KubernetesObjects objects) {
    VaultSettings.check(kind, section);
    return new VaultSessions(id, kind, section, objects);
  }

  /** Whether each tenant has its own. */
  boolean areOfTenants() {
    return kind.isOfTenant();
  }

  /** For the owner of a volume. */
  VaultSession open(KeyOwner owner, Deadline deadline) {
    String tenant = kind.isOfTenant() ? owner.requireTenant(section.name(), "") : "";
    VaultSettings settings = settings(tenant, deadline);
    Optional<Tls.Pem> ca =
        settings.ca().map(secret -> ca(settings, secret, owner, tenant, deadline));
    Optional<Tls.Identity> client =
        settings.certificate().map(secret -> identity(settings, secret, tenant, deadline));
    Key key = new Key(tenant, settings, digest(ca, client));
    VaultSession known = kept.getIfPresent(key);
    if (known != null) {
      return known;
    }
    VaultSession made =
        new VaultSession(
            id,
            settings,
            tls(settings, ca, client),
            kind.logsIn(),
            credential(settings, tenant),
            places(tenant));
    return Objects.requireNonNull(kept.get(key, missing -> made));
  }

  private Semaphore places(String tenant) {
    return Objects.requireNonNull(
        places.get(tenant, missing -> new Semaphore(VaultSession.MOST_AT_ONCE)));
  }

  private VaultSettings settings(String tenant, Deadline deadline) {
    Section none = new Section(section.name(), Map.of());
    if (!kind.isOfTenant()) {
      return VaultSettings.of(kind, section, none);
    }
    Section of = ofTenant(tenant);
    return VaultSettings.of(kind, of, chosen(of, tenant, deadline).orElse(none));
  }

  private Section ofTenant(String tenant) {
    return section.with(section.below("tenants", tenant), kind.known());
  }

  /** What the tenant's ConfigMap has; empty when there is none. */
  private Optional<Section> chosen(Section of, String tenant, Deadline deadline) {
    String name = VaultSettings.tenantConfig(of);
    return objects
        .api()
        .configMap(tenant, name, deadline)
        .map(data -> ofConfigMap("ConfigMap " + tenant + "/" + name, data));
  }

  /**
   * Whether what a tenant logs in with is gone, as it is with the tenant's namespace: then nobody
   * can. False where the driver itself logs in.
   */
  boolean isTenantGone(KeyOwner owner, Deadline deadline) {
    if (!kind.isOfTenant()) {
      return false;
    }
    String tenant = owner.requireTenant(section.name(), "");
    Section of = ofTenant(tenant);
    Section all = chosen(of, tenant, deadline).map(own -> of.with(own, kind.ofTenant())).orElse(of);
    return kind.logsIn()
        ? objects.api().tokenOf(tenant, VaultSettings.account(all), deadline).isEmpty()
        : objects.api().secret(tenant, VaultSettings.token(all), deadline).isEmpty();
  }

  private Section ofConfigMap(String name, Map<String, String> data) {
    if (data.size() > MOST_FIELDS) {
      throw VolumeException.invalid(
          section.name() + ", " + name + ": it has more than " + MOST_FIELDS + " keys");
    }
    Map<String, JsonNode> fields = new LinkedHashMap<>();
    data.forEach((field, value) -> fields.put(field, TextNode.valueOf(value)));
    Section all = new Section(section.name() + ", " + name, fields);
    for (String field : kind.ofTenant()) {
      if (data.getOrDefault(field, "").length() > LONGEST_VALUE) {
        throw all.wrong(field, "must have at most " + LONGEST_VALUE + " characters");
      }
    }
    String unknown = name + all.unknown(kind.ofTenant());
    if (warned.getIfPresent(unknown) == null) {
      warned.put(unknown, true);
      KmsTypes.warnOfUnknown(all, kind.ofTenant());
    }
    return new Section(all.name(), Map.of()).with(all, kind.ofTenant());
  }

  /** A tenant names Secrets of its own only; an administrator also those of the driver. */
  private Tls.Pem ca(
      VaultSettings settings, String secret, KeyOwner owner, String tenant, Deadline deadline) {
    if (kind.isOfTenant()) {
      List<String> where = namespaces(tenant, settings.tenantChoseCa());
      return objects.secret(where, secret, deadline).pem("cert");
    }
    String pem = owner.secrets().getOrDefault(secret, "");
    if (pem.isEmpty()) {
      throw VolumeException.invalid(
          "the secrets have no "
              + secret
              + ", which vaultCAFromSecret of "
              + section.name()
              + " names");
    }
    return new Tls.Pem("the secrets' " + secret, pem.getBytes(UTF_8));
  }

  /** The driver's own certificate is not shown to a server of the tenant's choice. */
  private Tls.Identity identity(
      VaultSettings settings, String certificate, String tenant, Deadline deadline) {
    List<String> where = namespaces(tenant, settings.tenantChoseServer());
    return new Tls.Identity(
        objects.secret(where, certificate, deadline).pem("cert"),
        objects.secret(where, settings.key().orElseThrow(), deadline).pem("key"));
  }

  private List<String> namespaces(String tenant, boolean tenantOnly) {
    String own = tenantOnly ? tenant : objects.api().ownNamespace();
    return own.equals(tenant) ? List.of(tenant) : List.of(tenant, own);
  }

  private SSLContext tls(
      VaultSettings settings, Optional<Tls.Pem> ca, Optional<Tls.Identity> client) {
    if (!settings.verifies()) {
      return Tls.withoutVerification(client);
    }
    return settings
        .serverName()
        .map(name -> Tls.of(ca, client, name))
        .orElseGet(() -> Tls.of(ca, client));
  }

  private Function<Deadline, String> credential(VaultSettings settings, String tenant) {
    return switch (kind) {
      case OWN_ACCOUNT ->
          deadline -> Checks.token("the token of this pod", objects.api().ownToken());
      case TENANT_TOKEN ->
          deadline -> objects.secret(tenant, settings.token(), deadline).token("token");
      case TENANT_ACCOUNT ->
          deadline ->
              Checks.token(
                  "the token of ServiceAccount " + tenant + "/" + settings.account(),
                  tokenOf(tenant, settings.account(), deadline));
    };
  }

  private String tokenOf(String tenant, String account, Deadline deadline) {
    return objects
        .api()
        .tokenOf(tenant, account, deadline)
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "token of ServiceAccount "
                        + tenant
                        + "/"
                        + account
                        + ": there is no such account"));
  }

  private static String digest(Optional<Tls.Pem> ca, Optional<Tls.Identity> client) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (Optional<Tls.Pem> pem :
          List.of(ca, client.map(Tls.Identity::certificate), client.map(Tls.Identity::key))) {
        byte[] text = pem.isPresent() ? pem.get().text() : new byte[0];
        digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(text.length).array());
        digest.update(text);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("SHA-256 fails", e);
    }
  }
}
