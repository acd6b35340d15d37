package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer;
import io.cephcsi.driver.http.TestServer.Asked;
import io.cephcsi.driver.http.TestServer.Reply;
import io.cephcsi.driver.http.Tls;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Signature;
import java.security.cert.Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** AWS, Azure and IBM, by servers that answer as their documentation says. */
@Timeout(60)
class CloudKmsTest {
  private static final KeyOwner OWNER = new KeyOwner("volume-1", Optional.of("shop"), Map.of());
  private static final String DEK = "AAECAwQFBgcICQoLDA0ODxAREhM=";
  private static final Passphrase PASSPHRASE = Checks.passphrase("test", DEK);
  private static final String ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd";

  @TempDir private static Path keysFolder;
  private static TestKeys keys;
  @TempDir private Path folder;
  private final Map<String, String> stored = new ConcurrentHashMap<>();
  private TestServer server;
  private volatile String keyId = ARN;
  private TestKubernetes kubernetes;
  private KubernetesObjects objects;
  private CloudServers servers;

  @BeforeAll
  static void make() throws Exception {
    keys = TestKeys.make(keysFolder, "RSA", "ip:127.0.0.1");
  }

  @BeforeEach
  void start() throws Exception {
    server = TestServer.of(keys, this::answer);
    kubernetes = TestKubernetes.start(keys, folder);
    objects = new KubernetesObjects(Optional.of(kubernetes.api()));
    Tls.Pem ca = new Tls.Pem("test", keys.certificate().getBytes(UTF_8));
    servers =
        new CloudServers(Optional.of(server.address()), Tls.of(Optional.of(ca), Optional.empty()));
  }

  @AfterEach
  void stop() {
    server.close();
    kubernetes.close();
  }

  private static Section section(String... fields) throws IOException {
    Map<String, String> all = new java.util.LinkedHashMap<>();
    for (int i = 0; i < fields.length; i += 2) {
      all.put(fields[i], fields[i + 1]);
    }
    return Section.of("KMS c", Json.mapper().valueToTree(all));
  }

  private static Reply json(int status, Object body) throws IOException {
    return new Reply(status, Json.mapper().writeValueAsString(body));
  }

  private static Map<String, String> form(String body) {
    return Arrays.stream(body.split("&", -1))
        .map(field -> field.split("=", 2))
        .collect(Collectors.toMap(f -> f[0], f -> URLDecoder.decode(f[1], UTF_8)));
  }

  private Reply answer(Asked asked) throws IOException {
    if (asked.path().equals("/") && asked.body().startsWith("Action=")) {
      return sts(asked);
    }
    if (asked.path().equals("/")) {
      return aws(asked);
    }
    if (asked.path().startsWith("/secrets/")) {
      return azure(asked);
    }
    if (asked.path().equals("/tenant-1/oauth2/v2.0/token")) {
      return azureLogin(asked);
    }
    if (asked.path().equals("/iam")) {
      boolean known = "secret-api-key".equals(form(asked.body()).get("apikey"));
      return known
          ? json(200, Map.of("access_token", "secret-ibm-token", "expires_in", "3600"))
          : json(400, Map.of("errorCode", "BXNIM0415E", "errorMessage", "no key " + asked.body()));
    }
    return ibm(asked);
  }

  private static Reply sts(Asked asked) {
    Map<String, String> form = form(asked.body());
    if (!"secret-web-token".equals(form.get("WebIdentityToken"))) {
      return new Reply(
          400,
          "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code>"
              + "<Message>secret-message</Message></Error></ErrorResponse>");
    }
    return new Reply(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
            + "<SessionToken>secret-session/+==</SessionToken>"
            + "<SecretAccessKey>secret-of-role</SecretAccessKey>"
            + "<Expiration>2026-11-26T12:00:00Z</Expiration><AccessKeyId>ASIAROLE</AccessKeyId>"
            + "</Credentials></AssumeRoleWithWebIdentityResult>"
            + "</AssumeRoleWithWebIdentityResponse>");
  }

  private Reply aws(Asked asked) throws IOException {
    if (!asked.authorization().matches("AWS4-HMAC-SHA256 Credential=(AKIA1|ASIAROLE)/.*")) {
      return json(400, Map.of("__type", "UnrecognizedClientException", "message", "who?"));
    }
    JsonNode body = Json.mapper().readTree(asked.body());
    if (body.has("Plaintext")) {
      return body.path("KeyId").asText().equals(ARN)
          ? json(200, Map.of("CiphertextBlob", body.path("Plaintext").asText(), "KeyId", ARN))
          : json(
              400,
              Map.of("__type", "x#NotFoundException", "message", "no " + body.path("Plaintext")));
    }
    return body.path("CiphertextBlob").asText().equals("AAAA")
        ? json(400, Map.of("__type", "InvalidCiphertextException"))
        : json(200, Map.of("Plaintext", body.path("CiphertextBlob").asText(), "KeyId", keyId));
  }

  private Reply azure(Asked asked) throws IOException {
    if (!asked.authorization().equals("Bearer secret-azure-token")) {
      return json(401, Map.of("error", Map.of("code", "Unauthorized", "message", "no")));
    }
    if (!asked.path().endsWith("?api-version=7.4")) {
      return json(400, Map.of());
    }
    Map<String, Object> missing =
        Map.of("error", Map.of("code", "SecretNotFound", "message", "no such secret"));
    return switch (asked.method()) {
      case "PUT" -> {
        stored.put(asked.path(), Json.mapper().readTree(asked.body()).path("value").asText());
        yield json(200, Map.of("value", stored.get(asked.path())));
      }
      case "DELETE" ->
          stored.remove(asked.path()) == null ? json(404, missing) : json(200, Map.of());
      default ->
          stored.containsKey(asked.path())
              ? json(200, Map.of("value", stored.get(asked.path())))
              : json(404, missing);
    };
  }

  private Reply azureLogin(Asked asked) throws IOException {
    Map<String, String> form = form(asked.body());
    String assertion = form.get("client_assertion");
    String[] parts = assertion.split("\\.", -1);
    try {
      Certificate own =
          Tls.certificates(new Tls.Pem("test", keys.certificate().getBytes(UTF_8))).get(0);
      Signature signature = Signature.getInstance("SHA256withRSA");
      signature.initVerify(own);
      signature.update((parts[0] + "." + parts[1]).getBytes(UTF_8));
      JsonNode claims = Json.mapper().readTree(Base64.getUrlDecoder().decode(parts[1]));
      boolean good =
          signature.verify(Base64.getUrlDecoder().decode(parts[2]))
              && claims.path("aud").asText().equals(server.address() + asked.path())
              && claims.path("sub").asText().equals("client-1")
              && claims.path("exp").asLong() > Instant.now().getEpochSecond()
              && "https://vault.azure.net/.default".equals(form.get("scope"));
      return good
          ? json(200, Map.of("access_token", "secret-azure-token", "expires_in", 3600))
          : json(401, Map.of("error", "invalid_client", "error_description", assertion));
    } catch (java.security.GeneralSecurityException e) {
      return json(500, Map.of());
    }
  }

  private static Reply ibm(Asked asked) throws IOException {
    JsonNode body = Json.mapper().readTree(asked.body());
    if (!asked.authorization().equals("Bearer secret-ibm-token")) {
      return json(401, Map.of());
    }
    String aad = body.path("aad").path(0).asText();
    if (asked.path().equals("/api/v2/keys/root-1/actions/wrap")) {
      String plain = body.path("plaintext").asText();
      Base64.getDecoder().decode(plain);
      return json(200, Map.of("ciphertext", aad + "|" + plain));
    }
    String[] parts = body.path("ciphertext").asText().split("\\|", 2);
    return parts[0].equals(aad)
        ? json(200, Map.of("plaintext", parts[1]))
        : json(
            422,
            Map.of("resources", java.util.List.of(Map.of("errorMsg", "Unprocessable Entity"))));
  }

  private static void assertRefused(Runnable call, Reason reason, String text) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(text)
        .satisfies(e -> assertThat(e.getMessage()).doesNotContain("secret-", DEK, "QUFFQ0F3"));
  }

  @Test
  void aRequestIsSignedAsInTheDocumentationOfAws() {
    // The example of Signature Version 4 with these keys: a POST to its test service.
    AwsSignature signature =
        new AwsSignature("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "");
    Map<String, String> headers =
        signature.sign(
            "service",
            "us-east-1",
            Map.of("host", "example.amazonaws.com"),
            new byte[0],
            Instant.parse("2015-08-30T12:36:00Z"));
    assertThat(headers.get("Authorization"))
        .isEqualTo(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
                + " SignedHeaders=host;x-amz-date, Signature="
                + "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    assertThat(signature.toString()).doesNotContain("wJal");
  }

  @Test
  void awsWrapsByKeysOfASecret() throws Exception {
    Map<String, String> secret =
        Map.of(
            "AWS_ACCESS_KEY_ID", "AKIA1",
            "AWS_SECRET_ACCESS_KEY", "secret-aws-key",
            "AWS_CMK_ARN", ARN);
    kubernetes.secret("ceph", "ceph-csi-aws-credentials", secret);
    AwsKms kms = AwsKms.byKeys("c", section("AWS_REGION", "eu-west-1"), objects, servers);
    String wrapped = kms.wrap(OWNER, PASSPHRASE);
    assertThat(wrapped).isEqualTo(Base64.getEncoder().encodeToString(DEK.getBytes(UTF_8)));
    assertThat(kms.unwrap(OWNER, wrapped).text()).isEqualTo(DEK);
    assertRefused(
        () -> kms.unwrap(OWNER, "AAAA"), Reason.FAILED_PRECONDITION, "InvalidCiphertextException");
    Map<String, String> other = new java.util.LinkedHashMap<>(secret);
    other.put("AWS_CMK_ARN", "arn:other");
    kubernetes.secret("ceph", "ceph-csi-aws-credentials", other);
    assertRefused(
        () -> kms.wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, ": NotFoundException; no");
    other.put("more", "secret-more");
    kubernetes.secret("ceph", "ceph-csi-aws-credentials", other);
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, "the key more");
    assertThatThrownBy(
            () -> AwsKms.byKeys("c", section("AWS_REGION", "evil.com/"), objects, servers))
        .hasMessageContaining("no region");
  }

  /** As in ceph-csi's example; a key that was replaced may open what it has wrapped. */
  @Test
  void awsUnwrapsByKeysOfTheSameAccountOnly() throws Exception {
    Map<String, String> secret =
        Map.of(
            "AWS_ACCESS_KEY_ID", "AKIA1",
            "AWS_SECRET_ACCESS_KEY", "secret-aws-key",
            "AWS_SESSION_TOKEN", "",
            "AWS_CMK_ARN", ARN);
    kubernetes.secret("ceph", "ceph-csi-aws-credentials", secret);
    AwsKms kms = AwsKms.byKeys("c", section("AWS_REGION", "eu-west-1"), objects, servers);
    String wrapped = kms.wrap(OWNER, PASSPHRASE);
    keyId = "arn:aws:kms:us-east-1:111122223333:key/another";
    assertThat(kms.unwrap(OWNER, wrapped).text()).isEqualTo(DEK);
    for (String strange : new String[] {ARN.replace("1111", "9999"), "1234abcd", ""}) {
      keyId = strange;
      assertRefused(
          () -> kms.unwrap(OWNER, wrapped), Reason.FAILED_PRECONDITION, "of another account");
    }
  }

  @Test
  void awsWrapsByARoleOfTheTenant() throws Exception {
    Path token = folder.resolve("oidc-token");
    kubernetes.secret(
        "shop",
        "role",
        Map.of("awsRoleARN", "arn:aws:iam::1:role/x", "awsCMKARN", ARN, "awsRegion", "eu-west-1"));
    AwsKms kms = AwsKms.byRole("c", section("secretName", "role"), objects, servers, token);
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.FAILED_PRECONDITION, token.toString());
    Files.writeString(token, "secret-other-token");
    assertRefused(
        () -> kms.wrap(OWNER, PASSPHRASE), Reason.UNAUTHENTICATED, "InvalidIdentityToken");
    Files.writeString(token, "secret-web-token\n");
    String wrapped = kms.wrap(OWNER, PASSPHRASE);
    assertThat(kms.unwrap(OWNER, wrapped).text()).isEqualTo(DEK);
    assertThat(server.asked().stream().filter(one -> one.body().startsWith("Action="))).hasSize(2);
    KeyOwner unknown = new KeyOwner("volume-1", Optional.empty(), Map.of());
    assertRefused(() -> kms.wrap(unknown, PASSPHRASE), Reason.INVALID_ARGUMENT, "namespace");
  }

  @Test
  void azureStoresByTheIdOfTheVolume() throws Exception {
    kubernetes.secret(
        "ceph",
        "ceph-csi-azure-credentials",
        Map.of("CLIENT_CERT", keys.certificate() + keys.key()));
    Section section =
        section(
            "AZURE_VAULT_URL", server.address() + "/",
            "AZURE_CLIENT_ID", "client-1",
            "AZURE_TENANT_ID", "tenant-1");
    AzureKms kms = new AzureKms("c", section, objects, servers);
    assertThat(kms.find(OWNER)).isEmpty();
    assertRefused(
        () -> kms.replace(OWNER, PASSPHRASE, PASSPHRASE),
        Reason.FAILED_PRECONDITION,
        "no passphrase");
    assertThat(kms.storeIfAbsent(OWNER, PASSPHRASE).text()).isEqualTo(DEK);
    assertThat(kms.storeIfAbsent(OWNER, Passphrase.random()).text()).isEqualTo(DEK);
    assertThat(stored).containsEntry("/secrets/volume-1?api-version=7.4", DEK);
    Passphrase next = Passphrase.random();
    assertRefused(
        () -> kms.replace(OWNER, next, Passphrase.random()), Reason.ABORTED, "by another call");
    assertThat(kms.find(OWNER).orElseThrow().text()).isEqualTo(DEK);
    for (int i = 0; i < 2; i++) {
      kms.replace(OWNER, PASSPHRASE, next);
      assertThat(kms.find(OWNER).orElseThrow().isSame(next)).isTrue();
    }
    kms.remove(OWNER);
    kms.remove(OWNER);
    assertThat(stored).isEmpty();
    assertThat(server.count("POST", "/tenant-1/")).isEqualTo(1);
    assertRefused(() -> kms.find(OWNER.of("a/b")), Reason.INVALID_ARGUMENT, "letters");
    kubernetes.secret("ceph", "ceph-csi-azure-credentials", Map.of("CLIENT_CERT", "secret-bad"));
    assertRefused(() -> kms.find(OWNER), Reason.FAILED_PRECONDITION, "key CLIENT_CERT of Secret");
    TestKeys other = TestKeys.make(keysFolder, "RSA", "ip:127.0.0.1");
    kubernetes.secret(
        "ceph",
        "ceph-csi-azure-credentials",
        Map.of("CLIENT_CERT", other.certificate() + other.key()));
    assertRefused(() -> kms.find(OWNER), Reason.UNAUTHENTICATED, ": invalid_client; ***");
  }

  @Test
  void ibmWrapsBoundToTheVolume() throws Exception {
    Map<String, String> secret =
        Map.of("IBM_KP_SERVICE_API_KEY", "secret-api-key", "IBM_KP_CUSTOMER_ROOT_KEY", "root-1");
    kubernetes.secret("ceph", "ceph-csi-kp-credentials", secret);
    Section section =
        section(
            "IBM_KP_SERVICE_INSTANCE_ID",
            "instance-1",
            "IBM_KP_BASE_URL",
            server.address(),
            "IBM_KP_TOKEN_URL",
            server.address() + "/iam");
    IbmKms kms = new IbmKms("c", section, objects, servers);
    String wrapped = kms.wrap(OWNER, PASSPHRASE);
    String sent = "volume-1|" + DEK;
    assertThat(wrapped).isEqualTo(Base64.getEncoder().encodeToString(sent.getBytes(UTF_8)));
    assertThat(kms.unwrap(OWNER, wrapped).text()).isEqualTo(DEK);
    for (String other : new String[] {"AAECAwQFBgcICQoLDA0ODxAREh_=", "any text", "AAB="}) {
      String marked = kms.wrap(OWNER, Checks.passphrase("test", other));
      assertThat(marked).startsWith("base64:"); // no Base64: ceph-csi refuses it
      assertThat(kms.unwrap(OWNER, marked).text()).isEqualTo(other);
    }
    for (int i = 0; i < 50; i++) {
      assertThat(Passphrase.random().text()).hasSize(28).doesNotContain("-", "_");
    }
    assertRefused(
        () -> kms.unwrap(OWNER.of("another"), wrapped),
        Reason.FAILED_PRECONDITION,
        "Unprocessable Entity");
    assertRefused(() -> kms.unwrap(OWNER, "!"), Reason.FAILED_PRECONDITION, "damaged");
    kubernetes.secret(
        "ceph",
        "ceph-csi-kp-credentials",
        Map.of("IBM_KP_SERVICE_API_KEY", "secret-other", "IBM_KP_CUSTOMER_ROOT_KEY", "root-1"));
    assertRefused(() -> kms.wrap(OWNER, PASSPHRASE), Reason.UNAUTHENTICATED, "BXNIM0415E");
  }
}
