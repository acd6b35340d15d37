package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.http.TestServer;
import io.cephcsi.driver.http.TestServer.Reply;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Servers send back what they got, as error, as rubbish and as text: none of it shows anywhere. */
@Timeout(120)
class KmsSecretsTest {
  private static final String PASSPHRASE = "passphrase-that-nobody-sees";
  private static final String WRAPPING = "wrapping-that-nobody-sees";
  private static final String TOKEN = "vault-token-that-nobody-sees";
  private static final String AWS = "aws-key-that-nobody-sees";
  private static final String API_KEY = "api-key-that-nobody-sees";

  private final List<String> shown = new ArrayList<>();

  @TempDir private Path folder;

  private void attempt(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      StringWriter text = new StringWriter();
      e.printStackTrace(new PrintWriter(text));
      shown.add(text.toString());
    }
  }

  @Test
  void noSecretIsInALogOrAnError() throws Exception {
    TestKeys keys = TestKeys.make(folder, "RSA", "ip:127.0.0.1");
    Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    Level before = root.getLevel();
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    root.addAppender(log);
    root.setLevel(Level.TRACE);
    try (TestKubernetes kubernetes = TestKubernetes.start(keys, folder)) {
      secrets(kubernetes, keys);
      for (int status : new int[] {200, 302, 400, 401, 403, 404, 500}) {
        for (boolean json : new boolean[] {true, false}) {
          try (TestServer server = TestServer.of(keys, asked -> echo(asked, status, json))) {
            call(kubernetes, keys, server);
          }
        }
      }
    } finally {
      root.setLevel(before);
      root.detachAppender(log);
    }
    assertThat(shown).hasSizeGreaterThan(40);
    for (ILoggingEvent event : List.copyOf(log.list)) {
      shown.add(event.getFormattedMessage());
      shown.add(
          event.getThrowableProxy() == null
              ? ""
              : ThrowableProxyUtil.asString(event.getThrowableProxy()));
    }
    for (String secret : List.of(PASSPHRASE, WRAPPING, TOKEN, AWS, API_KEY, TestKubernetes.TOKEN)) {
      String base64 = Base64.getEncoder().encodeToString(secret.getBytes(UTF_8));
      assertThat(shown.stream().filter(text -> text.contains(secret) || text.contains(base64)))
          .as(secret)
          .isEmpty();
    }
    String key = keys.key().lines().skip(2).findFirst().orElseThrow().strip();
    assertThat(shown).noneMatch(text -> text.contains(key));
  }

  private static void secrets(TestKubernetes kubernetes, TestKeys keys) throws Exception {
    kubernetes.secret("ceph", "ca", Map.of("cert", keys.certificate()));
    kubernetes.secret("shop", "ceph-csi-kms-token", Map.of("token", TOKEN));
    kubernetes.secret("shop", "wrapping", Map.of(SecretPassphrase.KEY, WRAPPING));
    kubernetes.secret(
        "ceph",
        "ceph-csi-aws-credentials",
        Map.of("AWS_ACCESS_KEY_ID", "AKIA1", "AWS_SECRET_ACCESS_KEY", AWS, "AWS_CMK_ARN", "key"));
    kubernetes.secret(
        "ceph",
        "ceph-csi-kp-credentials",
        Map.of("IBM_KP_SERVICE_API_KEY", API_KEY, "IBM_KP_CUSTOMER_ROOT_KEY", "root"));
    kubernetes.secret(
        "ceph",
        "ceph-csi-azure-credentials",
        Map.of("CLIENT_CERT", keys.certificate() + keys.key()));
  }

  /** All that was sent, in each field that an error may have. */
  private static Reply echo(TestServer.Asked asked, int status, boolean json) {
    String sent =
        asked.body() + " " + asked.token() + " " + asked.authorization() + " " + asked.path();
    if (!json) {
      return new Reply(status, sent);
    }
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("errors", List.of(sent, asked.token(), sent));
    for (String field :
        List.of("__type", "message", "error_description", "errorCode", "errorMessage", "value")) {
      all.put(field, sent);
    }
    all.put("error", Map.of("code", sent, "message", sent));
    all.put("resources", List.of(Map.of("errorMsg", sent)));
    all.put("access_token", sent);
    all.put("auth", Map.of("client_token", sent));
    all.put("data", Map.of("data", sent));
    all.put("ciphertext", "");
    return new Reply(status, RestCalls.json(all));
  }

  private void call(TestKubernetes kubernetes, TestKeys keys, TestServer server) throws Exception {
    Map<String, Object> sections = new LinkedHashMap<>();
    sections.put("m", Map.of("encryptionKMSType", "metadata", "secretName", "wrapping"));
    for (String type : List.of("vault", "vaulttokens")) {
      sections.put(
          type,
          Map.of(
              "encryptionKMSType",
              type,
              "vaultAddress",
              server.address(),
              "vaultBackend",
              "kv-v2",
              "vaultCAFromSecret",
              "ca"));
    }
    Path file = Files.writeString(folder.resolve("all.json"), RestCalls.json(sections));
    KmsConfig config = new KmsConfig(file, Optional.of(kubernetes.api()), Map.of());
    KeyOwner owner =
        new KeyOwner("volume-1", Optional.of("shop"), Map.of("ca", keys.certificate()));
    Passphrase passphrase = Checks.passphrase("test", PASSPHRASE);
    shown.add(owner + " " + passphrase + " " + config.require("m"));
    attempt(() -> ((KeyWrapper) config.require("m")).unwrap(owner, "{\"dek\":\"AAAA\"}"));
    for (String type : List.of("vault", "vaulttokens")) {
      attempt(() -> ((KeyStore) config.require(type)).storeIfAbsent(owner, passphrase));
    }
    var objects = new KubernetesObjects(Optional.of(kubernetes.api()));
    var ca = new io.cephcsi.driver.http.Tls.Pem("test", keys.certificate().getBytes(UTF_8));
    var clouds =
        new CloudServers(
            Optional.of(server.address()),
            io.cephcsi.driver.http.Tls.of(Optional.of(ca), Optional.empty()));
    attempt(
        () ->
            AwsKms.byKeys("a", section(Map.of("AWS_REGION", "eu-west-1")), objects, clouds)
                .wrap(owner, passphrase));
    Map<String, String> ibm =
        Map.of(
            "IBM_KP_SERVICE_INSTANCE_ID", "i",
            "IBM_KP_BASE_URL", server.address(),
            "IBM_KP_TOKEN_URL", server.address());
    attempt(() -> new IbmKms("i", section(ibm), objects, clouds).wrap(owner, passphrase));
    Map<String, String> azure =
        Map.of("AZURE_VAULT_URL", server.address(), "AZURE_CLIENT_ID", "c", "AZURE_TENANT_ID", "t");
    attempt(
        () -> new AzureKms("z", section(azure), objects, clouds).storeIfAbsent(owner, passphrase));
  }

  private static Section section(Map<String, String> fields) {
    return Section.of("KMS", io.cephcsi.driver.volume.Json.mapper().valueToTree(fields));
  }
}
