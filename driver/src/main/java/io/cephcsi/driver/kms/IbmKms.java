package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KubernetesObjects.SecretData;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Wraps passphrases by a root key of IBM Key Protect, bound to the volume's id. That takes Base64
 * only. ceph-csi sends the passphrase as it is, so one that is Base64 goes as it is; another goes
 * encoded, with a mark, which ceph-csi refuses instead of taking it for another passphrase.
 */
final class IbmKms implements KeyWrapper {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Duration TOKEN_KEPT = Duration.ofMinutes(10); // of an hour
  private static final String MARK = "base64:";
  private static final int LONGEST = 64 << 10;
  private static final List<String> FIELDS =
      List.of(
          "IBM_KP_SERVICE_INSTANCE_ID",
          "IBM_KP_SECRET_NAME",
          "IBM_KP_BASE_URL",
          "IBM_KP_TOKEN_URL",
          "IBM_KP_REGION");
  private static final List<String> KEYS =
      List.of(
          "IBM_KP_SERVICE_API_KEY",
          "IBM_KP_CUSTOMER_ROOT_KEY",
          "IBM_KP_SESSION_TOKEN",
          "IBM_KP_CRK_ARN");

  private final String id;
  private final RestCalls calls;
  private final KubernetesObjects objects;
  private final String instance;
  private final String secret;
  private final String base;
  private final String login;
  private final Cache<String, String> tokens =
      Caffeine.newBuilder().maximumSize(8).expireAfterWrite(TOKEN_KEPT).build();

  IbmKms(String id, Section section, KubernetesObjects objects, CloudServers servers) {
    KmsTypes.warnOfUnknown(section, FIELDS);
    this.id = id;
    this.calls = new RestCalls("KMS " + id + ", Key Protect", servers.tls());
    this.objects = objects;
    this.instance = section.require("IBM_KP_SERVICE_INSTANCE_ID");
    if (!instance.matches("[A-Za-z0-9-]{1,128}")) {
      throw section.wrong("IBM_KP_SERVICE_INSTANCE_ID", "must be letters, digits and -");
    }
    this.secret = section.get("IBM_KP_SECRET_NAME", "ceph-csi-kp-credentials");
    this.base =
        RestCalls.address(
            section,
            "IBM_KP_BASE_URL",
            section.get("IBM_KP_BASE_URL", "https://us-south.kms.cloud.ibm.com"));
    this.login =
        RestCalls.address(
            section,
            "IBM_KP_TOKEN_URL",
            section.get("IBM_KP_TOKEN_URL", "https://iam.cloud.ibm.com/oidc/token"));
  }

  @Override
  public String id() {
    return id;
  }

  @Override
  public String wrap(KeyOwner owner, Passphrase passphrase) {
    String text = passphrase.text();
    boolean plain = isBase64(text);
    String sent = plain ? text : Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
    String wrapped = action("wrap", "plaintext", sent, owner, List.of(text, sent)).at("ciphertext");
    if (wrapped.isEmpty()) {
      throw calls.strange("ciphertext");
    }
    String stored = Base64.getEncoder().encodeToString(wrapped.getBytes(UTF_8));
    return plain ? stored : MARK + stored;
  }

  @Override
  public Passphrase unwrap(KeyOwner owner, String wrapped) {
    boolean encoded = wrapped.startsWith(MARK);
    String source = "the passphrase of " + owner.volumeId();
    String ciphertext;
    try {
      if (wrapped.length() > LONGEST) {
        throw new IllegalArgumentException("too long");
      }
      String stored = encoded ? wrapped.substring(MARK.length()) : wrapped;
      ciphertext = new String(Base64.getDecoder().decode(stored), UTF_8);
    } catch (IllegalArgumentException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "KMS " + id + ": " + source + " is damaged");
    }
    String plain = action("unwrap", "ciphertext", ciphertext, owner, List.of()).at("plaintext");
    if (!encoded) {
      return Checks.passphrase(source, plain);
    }
    try {
      return Checks.passphrase(source, Base64.getDecoder().decode(plain));
    } catch (IllegalArgumentException e) {
      throw calls.strange("Base64 in plaintext");
    }
  }

  /** As the service gives it back: with padding, and no bits in it that are dropped. */
  private static boolean isBase64(String text) {
    try {
      return Base64.getEncoder().encodeToString(Base64.getDecoder().decode(text)).equals(text);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private RestCalls.Reply action(
      String action, String field, String value, KeyOwner owner, List<String> secrets) {
    Deadline deadline = Deadline.after(TIMEOUT);
    SecretData data = objects.secret(objects.api().ownNamespace(), secret, deadline).only(KEYS);
    String key = data.text("IBM_KP_CUSTOMER_ROOT_KEY");
    if (!key.matches("[A-Za-z0-9_-]{1,128}")) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, data.name() + ": IBM_KP_CUSTOMER_ROOT_KEY is no id of a key");
    }
    String apiKey = data.token("IBM_KP_SERVICE_API_KEY");
    Map<String, Object> body = new LinkedHashMap<>();
    body.put(field, value);
    body.put("aad", List.of(owner.volumeId()));
    String json = RestCalls.json(body);
    RestCalls.Reply reply = send(action, key, json, token(apiKey, deadline), secrets, deadline);
    if (reply.status() == 401) {
      tokens.invalidateAll();
      reply = send(action, key, json, token(apiKey, deadline), secrets, deadline);
    }
    if (!reply.isGood()) {
      throw calls.refused(
          Reason.FAILED_PRECONDITION,
          "to " + action + " the passphrase of " + owner.volumeId(),
          reply);
    }
    return reply;
  }

  private RestCalls.Reply send(
      String action,
      String key,
      String json,
      String token,
      List<String> secrets,
      Deadline deadline) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(base + "/api/v2/keys/" + key + "/actions/" + action))
            .header("Content-Type", "application/vnd.ibm.kms.key_action+json")
            .header("Authorization", "Bearer " + token)
            .header("bluemix-instance", instance)
            .POST(BodyPublishers.ofString(json))
            .build();
    List<String> hidden = new java.util.ArrayList<>(secrets);
    hidden.add(token);
    return calls.call(request, hidden, deadline);
  }

  private String token(String apiKey, Deadline deadline) {
    String known = tokens.getIfPresent(apiKey);
    if (known != null) {
      return known;
    }
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(login))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .POST(
                BodyPublishers.ofString(
                    RestCalls.form(
                        Map.of(
                            "grant_type",
                            "urn:ibm:params:oauth:grant-type:apikey",
                            "apikey",
                            apiKey))))
            .build();
    RestCalls.Reply reply = calls.call(request, List.of(apiKey), deadline);
    if (!reply.isGood()) {
      throw calls.refused(Reason.UNAUTHENTICATED, "IBM_KP_SERVICE_API_KEY", reply);
    }
    String token = Checks.token("the token of IBM Cloud", reply.at("access_token"));
    tokens.put(apiKey, token);
    return token;
  }
}
