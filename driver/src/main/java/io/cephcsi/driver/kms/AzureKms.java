package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.Tls;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.Signature;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Keeps the passphrase of each volume as a secret of Azure Key Vault, by the volume's id, as
 * ceph-csi does. The service has no compare-and-set: of two calls at the same time the last one
 * wins, and both read it back.
 */
final class AzureKms implements KeyStore {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Duration TOKEN_KEPT = Duration.ofMinutes(10); // of an hour
  private static final Duration ASSERTION = Duration.ofMinutes(10);
  private static final String VERSION = "?api-version=7.4";
  private static final List<String> FIELDS =
      List.of("AZURE_VAULT_URL", "AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CERT_SECRET_NAME");

  /** The login of a cloud, by the end of the names of its key vaults. */
  private static final Map<String, String> LOGINS =
      Map.of(
          ".vault.azure.cn", "https://login.chinacloudapi.cn",
          ".vault.usgovcloudapi.net", "https://login.microsoftonline.us");

  private final String id;
  private final RestCalls calls;
  private final KubernetesObjects objects;
  private final String vault;
  private final String client;
  private final String login;
  private final String scope;
  private final String secret;
  private final Cache<String, String> tokens =
      Caffeine.newBuilder().maximumSize(8).expireAfterWrite(TOKEN_KEPT).build();

  AzureKms(String id, Section section, KubernetesObjects objects, CloudServers servers) {
    KmsTypes.warnOfUnknown(section, FIELDS);
    this.id = id;
    this.calls = new RestCalls("KMS " + id + ", Azure", servers.tls());
    this.objects = objects;
    this.vault = RestCalls.address(section, "AZURE_VAULT_URL", section.require("AZURE_VAULT_URL"));
    this.client = plain(section, "AZURE_CLIENT_ID");
    String end =
        LOGINS.keySet().stream()
            .filter(one -> URI.create(vault).getHost().endsWith(one))
            .findFirst()
            .orElse(".vault.azure.net");
    this.scope = "https://" + end.substring(1) + "/.default";
    String host = servers.address(LOGINS.getOrDefault(end, "https://login.microsoftonline.com"));
    this.login = host + "/" + plain(section, "AZURE_TENANT_ID") + "/oauth2/v2.0/token";
    this.secret = section.get("AZURE_CERT_SECRET_NAME", "ceph-csi-azure-credentials");
  }

  private static String plain(Section section, String field) {
    String text = section.require(field);
    if (!text.matches("[A-Za-z0-9.-]{1,128}")) {
      throw section.wrong(field, "must be an id");
    }
    return text;
  }

  @Override
  public String id() {
    return id;
  }

  @Override
  public Optional<Passphrase> find(KeyOwner owner) {
    return read(owner, Deadline.after(TIMEOUT));
  }

  private Optional<Passphrase> read(KeyOwner owner, Deadline deadline) {
    RestCalls.Reply reply = call("GET", owner, "", List.of(), deadline);
    if (isMissing(reply)) {
      return Optional.empty();
    }
    if (!reply.isGood()) {
      throw refused("the passphrase of " + owner.volumeId(), reply);
    }
    return Optional.of(
        Checks.passphrase("the passphrase of " + owner.volumeId(), reply.at("value")));
  }

  private static boolean isMissing(RestCalls.Reply reply) {
    return reply.status() == 404 && reply.at("error", "code").equals("SecretNotFound");
  }

  @Override
  public Passphrase storeIfAbsent(KeyOwner owner, Passphrase passphrase) {
    Deadline deadline = Deadline.after(TIMEOUT);
    Optional<Passphrase> present = read(owner, deadline);
    if (present.isPresent()) {
      return present.get();
    }
    write(owner, passphrase, deadline);
    return read(owner, deadline).orElseThrow(() -> changed(owner, "removed"));
  }

  private VolumeException changed(KeyOwner owner, String how) {
    return new VolumeException(
        Reason.ABORTED,
        "KMS " + id + ": the passphrase of " + owner.volumeId() + " is being " + how);
  }

  @Override
  public void replace(KeyOwner owner, Passphrase expected, Passphrase next) {
    Deadline deadline = Deadline.after(TIMEOUT);
    Passphrase present =
        read(owner, deadline)
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.FAILED_PRECONDITION,
                        "KMS " + id + " has no passphrase of " + owner.volumeId() + " to replace"));
    if (present.isSame(next)) {
      return;
    }
    if (!present.isSame(expected)) {
      throw changed(owner, "replaced by another call");
    }
    write(owner, next, deadline);
    if (read(owner, deadline).filter(next::isSame).isEmpty()) { // it took what came last
      throw changed(owner, "replaced by another call");
    }
  }

  @Override
  public void confirm(KeyOwner owner, Passphrase expected) {
    if (read(owner, Deadline.after(TIMEOUT)).filter(expected::isSame).isEmpty()) {
      throw changed(owner, "replaced by another call");
    }
  }

  private void write(KeyOwner owner, Passphrase passphrase, Deadline deadline) {
    String text = Checks.storable(id, passphrase, owner);
    String body = RestCalls.json(Map.of("value", text));
    RestCalls.Reply reply = call("PUT", owner, body, List.of(text), deadline);
    if (!reply.isGood()) {
      throw refused("to store the passphrase of " + owner.volumeId(), reply);
    }
  }

  @Override
  public void remove(KeyOwner owner) {
    Deadline deadline = Deadline.after(TIMEOUT);
    RestCalls.Reply reply = call("DELETE", owner, "", List.of(), deadline);
    if (!reply.isGood() && !isMissing(reply)) {
      throw refused("the removal of the passphrase of " + owner.volumeId(), reply);
    }
  }

  private VolumeException refused(String what, RestCalls.Reply reply) {
    return calls.refused(Reason.FAILED_PRECONDITION, what, reply);
  }

  private RestCalls.Reply call(
      String method, KeyOwner owner, String body, List<String> secrets, Deadline deadline) {
    if (!owner.volumeId().matches("[0-9A-Za-z-]{1,127}")) {
      throw VolumeException.invalid(
          "KMS " + id + " takes ids of letters, digits and - with at most 127 characters");
    }
    Tls.Pem pem = objects.secret(objects.api().ownNamespace(), secret, deadline).pem("CLIENT_CERT");
    RestCalls.Reply reply = send(method, owner, body, secrets, token(pem, deadline), deadline);
    if (reply.status() == 401) {
      tokens.invalidateAll();
      reply = send(method, owner, body, secrets, token(pem, deadline), deadline);
    }
    return reply;
  }

  private RestCalls.Reply send(
      String method,
      KeyOwner owner,
      String body,
      List<String> secrets,
      String token,
      Deadline deadline) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(vault + "/secrets/" + owner.volumeId() + VERSION))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + token)
            .method(
                method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
    List<String> hidden = new ArrayList<>(secrets);
    hidden.add(token);
    return calls.call(request, hidden, deadline);
  }

  private String token(Tls.Pem pem, Deadline deadline) {
    try {
      byte[] der = Tls.certificates(pem).get(0).getEncoded();
      String thumbprint = base64(MessageDigest.getInstance("SHA-1").digest(der));
      String known = tokens.getIfPresent(thumbprint);
      if (known != null) {
        return known;
      }
      String made = logIn(assertion(thumbprint, pem), deadline);
      tokens.put(thumbprint, made);
      return made;
    } catch (GeneralSecurityException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, pem + " has no key of RSA that can sign");
    }
  }

  /** A token that the client signs itself, instead of a password. */
  private String assertion(String thumbprint, Tls.Pem pem) throws GeneralSecurityException {
    long now = Instant.now().getEpochSecond();
    String head = RestCalls.json(Map.of("alg", "RS256", "typ", "JWT", "x5t", thumbprint));
    String claims =
        RestCalls.json(
            Map.of(
                "aud",
                login,
                "iss",
                client,
                "sub",
                client,
                "jti",
                UUID.randomUUID().toString(),
                "nbf",
                now - 60,
                "exp",
                now + ASSERTION.toSeconds()));
    String text = base64(head.getBytes(UTF_8)) + "." + base64(claims.getBytes(UTF_8));
    Signature signature = Signature.getInstance("SHA256withRSA");
    signature.initSign(Tls.privateKey(pem));
    signature.update(text.getBytes(UTF_8));
    return text + "." + base64(signature.sign());
  }

  private static String base64(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private String logIn(String assertion, Deadline deadline) {
    String form =
        RestCalls.form(
            Map.of(
                "grant_type", "client_credentials",
                "client_id", client,
                "scope", scope,
                "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion", assertion));
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(login))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(form))
            .build();
    RestCalls.Reply reply = calls.call(request, List.of(assertion), deadline);
    if (!reply.isGood()) {
      throw calls.refused(Reason.UNAUTHENTICATED, "the client certificate", reply);
    }
    return Checks.token("the token of Azure", reply.at("access_token"));
  }
}
