package io.cephcsi.driver.kms;

import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.Tls;
import io.cephcsi.driver.kms.KubernetesObjects.SecretData;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * Wraps passphrases by a key of a KMIP server, which encrypts them by AES-CBC, as ceph-csi does.
 * The text is not bound to a volume, and not authenticated: another key is seen by its padding,
 * mostly.
 */
final class KmipKms implements KeyWrapper {
  private static final int NONCE_BYTES = 16;
  private static final Pattern ENDPOINT =
      Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]{1,253}):([0-9]{1,5})");
  private static final List<String> FIELDS =
      List.of(
          "KMIP_ENDPOINT",
          "KMIP_SECRET_NAME",
          "TLS_SERVER_NAME",
          "TLS_MIN_VERSION",
          "READ_TIMEOUT",
          "WRITE_TIMEOUT",
          "USE_CRYPTO_RPC");
  private static final SecureRandom RANDOM = new SecureRandom();

  private final String id;
  private final String name;
  private final KubernetesObjects objects;
  private final String secret;
  private final KmipConnection.Server server;
  private final Duration read;
  private final Duration all;

  KmipKms(String id, Section section, KubernetesObjects objects) {
    KmsTypes.warnOfUnknown(section, FIELDS);
    this.id = id;
    this.objects = objects;
    Matcher endpoint = ENDPOINT.matcher(section.require("KMIP_ENDPOINT"));
    if (!endpoint.matches() || Integer.parseInt(endpoint.group(2)) > 65535) {
      throw section.wrong("KMIP_ENDPOINT", "must be HOST:PORT");
    }
    this.name = "KMS " + id + ", KMIP " + endpoint.group();
    String host = endpoint.group(1).replaceAll("[\\[\\]]", "");
    this.server =
        new KmipConnection.Server(
            host,
            Integer.parseInt(endpoint.group(2)),
            section.get("TLS_SERVER_NAME", host),
            protocols(section));
    if (!server.serverName().matches("[A-Za-z0-9._:-]{1,253}")) {
      throw section.wrong("TLS_SERVER_NAME", "must be a DNS name");
    }
    if (server.hasName()) {
      boolean own = section.find("TLS_SERVER_NAME").isPresent();
      section.serverName(own ? "TLS_SERVER_NAME" : "KMIP_ENDPOINT", server.serverName());
    }
    if (!section.isTrue("USE_CRYPTO_RPC", true)) {
      throw section.wrong(
          "USE_CRYPTO_RPC", "must be true: the driver does not take the key itself");
    }
    this.secret = section.get("KMIP_SECRET_NAME", "ceph-csi-kmip-credentials");
    this.read = Duration.ofSeconds(section.number("READ_TIMEOUT", 10, 1, 60));
    this.all = read.plusSeconds(section.number("WRITE_TIMEOUT", 10, 1, 60));
  }

  private static List<String> protocols(Section section) {
    return switch (section.get("TLS_MIN_VERSION", "1.2")) {
      case "1.2" -> List.of("TLSv1.3", "TLSv1.2");
      case "1.3" -> List.of("TLSv1.3");
      default -> throw section.wrong("TLS_MIN_VERSION", "must be 1.2 or 1.3");
    };
  }

  @Override
  public String id() {
    return id;
  }

  @Override
  public String wrap(KeyOwner owner, Passphrase passphrase) {
    byte[] nonce = new byte[NONCE_BYTES];
    RANDOM.nextBytes(nonce);
    byte[] plain = passphrase.bytes();
    try {
      byte[] sealed = crypt(KmipMessages.ENCRYPT, owner, plain, nonce, passphrase.text());
      return new SealedJson(sealed, nonce).text();
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Passphrase unwrap(KeyOwner owner, String wrapped) {
    SealedJson sealed;
    try {
      sealed = SealedJson.read(wrapped);
    } catch (IOException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          name + ": the wrapped passphrase of " + owner.volumeId() + " is damaged");
    }
    byte[] plain = crypt(KmipMessages.DECRYPT, owner, sealed.dek(), sealed.nonce(), "");
    try {
      return Checks.passphrase("the passphrase of " + owner.volumeId(), plain);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  private byte[] crypt(int operation, KeyOwner owner, byte[] data, byte[] nonce, String hidden) {
    return LongStep.call(() -> exchange(operation, owner, data, nonce, hidden));
  }

  private byte[] exchange(int operation, KeyOwner owner, byte[] data, byte[] nonce, String hidden) {
    Deadline deadline = Deadline.after(all);
    SecretData own =
        objects
            .secret(objects.api().ownNamespace(), secret, deadline)
            .only(List.of("CA_CERT", "CLIENT_CERT", "CLIENT_KEY", "UNIQUE_IDENTIFIER"));
    String key = PlainText.require(own.name(), own.text("UNIQUE_IDENTIFIER"));
    SSLContext context =
        Tls.of(
            Optional.of(own.pem("CA_CERT")),
            Optional.of(new Tls.Identity(own.pem("CLIENT_CERT"), own.pem("CLIENT_KEY"))));
    try (KmipConnection connection = KmipConnection.open(name, server, context, deadline)) {
      KmipMessages.Answer versions =
          ask(connection, KmipMessages.discoverVersions(), KmipMessages.DISCOVER_VERSIONS);
      if (!versions.good() || !versions.hasVersion()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION, name + ": the server does not speak KMIP 1.4");
      }
      byte[] request = KmipMessages.crypt(operation, key, data, nonce);
      KmipMessages.Answer answer = ask(connection, request, operation);
      if (!answer.good()) {
        String what = operation == KmipMessages.ENCRYPT ? "to wrap" : "to unwrap";
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            name
                + " refuses "
                + what
                + " the passphrase of "
                + owner.volumeId()
                + ServerErrors.shown(List.of(answer.message()), List.of(hidden)));
      }
      return answer.data().filter(found -> found.length > 0).orElseThrow(this::strange);
    }
  }

  private KmipMessages.Answer ask(KmipConnection connection, byte[] request, int operation) {
    try {
      return KmipMessages.answer(connection.call(request, read), operation);
    } catch (IOException e) {
      throw strange();
    }
  }

  private VolumeException strange() {
    return new VolumeException(
        Reason.UNAVAILABLE, name + ": the answer is not one of KMIP to what was asked");
  }
}
