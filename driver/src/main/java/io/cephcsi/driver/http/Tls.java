package io.cephcsi.driver.http;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Whom a client of a KMS trusts, and as whom it calls. Messages name where a certificate or key
 * came from, and nothing of what is in it.
 */
public final class Tls {
  private static final Pattern KEY =
      Pattern.compile(
          "-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\\s]+)-----END \\1-----");
  private static final Pattern CERTIFICATE =
      Pattern.compile("-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\\s]+)-----END CERTIFICATE-----");
  private static final Pattern HOST =
      Pattern.compile("(?=.{1,253}$)[A-Za-z0-9_-]{1,63}(\\.[A-Za-z0-9_-]{1,63})*");
  private static final char[] NO_PASSWORD = {};

  /** SEQUENCE of version 0 and the algorithm rsaEncryption, which PKCS #8 has before the key. */
  private static final byte[] RSA_HEAD = {
    2, 1, 0, 0x30, 13, 6, 9, 0x2a, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xf7, 13, 1, 1, 1, 5, 0
  };

  private Tls() {}

  /**
   * PEM text.
   *
   * @param source where it came from, for messages, such as {@code secret shop/ca, key cert}
   */
  @SuppressWarnings("ArrayRecordComponent") // not compared
  public record Pem(String source, byte[] text) {
    @Override
    public String toString() {
      return source;
    }
  }

  /**
   * A certificate of the client, and its key.
   *
   * @param certificate first, then those that it was issued by
   */
  public record Identity(Pem certificate, Pem key) {}

  /**
   * For a server that proves by a certificate that it has the name in its URL.
   *
   * @param ca whom to trust; empty for whom the JDK trusts
   * @param client as whom to call; empty for nobody
   * @throws VolumeException FAILED_PRECONDITION naming what cannot be read
   */
  public static SSLContext of(Optional<Pem> ca, Optional<Identity> client) {
    try {
      return context(trust(ca), client);
    } catch (GeneralSecurityException | IOException e) {
      throw unusable(ca, client, e);
    }
  }

  /** As {@link #of}, for a server that proves that it has another name than its URL. */
  public static SSLContext of(Optional<Pem> ca, Optional<Identity> client, String name) {
    if (!HOST.matcher(name).matches()) {
      throw VolumeException.invalid(
          "the name of the server must be a DNS name, not " + PlainText.show(name));
    }
    return NamedServer.of(of(ca, client), name);
  }

  /** For a server that need not prove who it is, as an administrator asks for. */
  public static SSLContext withoutVerification(Optional<Identity> client) {
    try {
      return context(new TrustManager[] {new AnyServer()}, client);
    } catch (GeneralSecurityException | IOException e) {
      throw unusable(Optional.empty(), client, e);
    }
  }

  private static SSLContext context(TrustManager[] trust, Optional<Identity> client)
      throws GeneralSecurityException, IOException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(client.isPresent() ? keys(client.get()) : new KeyManager[0], trust, null);
    return context;
  }

  private static VolumeException unusable(
      Optional<Pem> ca, Optional<Identity> client, Exception cause) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "TLS cannot be set up with "
            + ca.map(Pem::source).orElse("the certificates of the system")
            + client.map(of -> " and " + of.certificate() + " and " + of.key()).orElse(""),
        cause);
  }

  private static TrustManager[] trust(Optional<Pem> ca)
      throws GeneralSecurityException, IOException {
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    KeyStore trusted = null;
    if (ca.isPresent()) {
      trusted = empty();
      int number = 0;
      for (Certificate one : certificates(ca.get())) {
        trusted.setCertificateEntry("ca-" + number++, one);
      }
    }
    factory.init(trusted);
    return factory.getTrustManagers();
  }

  private static KeyManager[] keys(Identity client) throws GeneralSecurityException, IOException {
    KeyStore own = empty();
    own.setKeyEntry(
        "client",
        privateKey(client.key()),
        NO_PASSWORD,
        certificates(client.certificate()).toArray(Certificate[]::new));
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(own, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    return store;
  }

  /** The certificates in PEM text, at least one; a key may be beside them. */
  public static List<Certificate> certificates(Pem pem) {
    List<Certificate> found = new ArrayList<>();
    Matcher block = CERTIFICATE.matcher(new String(pem.text(), US_ASCII));
    try {
      CertificateFactory factory = CertificateFactory.getInstance("X.509");
      while (block.find()) {
        byte[] der = Base64.getMimeDecoder().decode(block.group(1));
        found.add(factory.generateCertificate(new ByteArrayInputStream(der)));
      }
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw wrong(pem, "a certificate in PEM that cannot be read");
    }
    if (found.isEmpty()) {
      throw wrong(pem, "no certificate in PEM");
    }
    return found;
  }

  /** The private key in PEM text. */
  public static PrivateKey privateKey(Pem pem) {
    Matcher found = KEY.matcher(new String(pem.text(), US_ASCII));
    if (!found.find()) {
      throw wrong(pem, "no private key in PEM without a password");
    }
    if (found.group(1).startsWith("EC")) {
      throw wrong(pem, "a key in the old form: convert it by \"openssl pkcs8 -topk8 -nocrypt\"");
    }
    byte[] der = new byte[0];
    try {
      der = Base64.getMimeDecoder().decode(found.group(2));
      if (found.group(1).startsWith("RSA")) {
        return rsa(pkcs8(der));
      }
      try {
        return rsa(der);
      } catch (GeneralSecurityException e) {
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
      }
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw wrong(pem, "no private key of RSA or EC"); // the exception may have parts of it
    } finally {
      Arrays.fill(der, (byte) 0);
    }
  }

  private static PrivateKey rsa(byte[] der) throws GeneralSecurityException {
    return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(der));
  }

  /** A key of PKCS #1 as one of PKCS #8. */
  private static byte[] pkcs8(byte[] key) {
    byte[] octets = der(4, new byte[0], key);
    return der(0x30, RSA_HEAD, octets);
  }

  private static byte[] der(int tag, byte[] first, byte[] second) {
    int length = first.length + second.length;
    byte[] head =
        length < 0x80
            ? new byte[] {(byte) tag, (byte) length}
            : new byte[] {(byte) tag, (byte) 0x82, (byte) (length >> 8), (byte) length};
    byte[] all = Arrays.copyOf(head, head.length + length);
    System.arraycopy(first, 0, all, head.length, first.length);
    System.arraycopy(second, 0, all, head.length + first.length, second.length);
    return all;
  }

  private static VolumeException wrong(Pem pem, String why) {
    return new VolumeException(Reason.FAILED_PRECONDITION, pem.source() + " has " + why);
  }

  /** Trusts every server, as the administrator asked for; also whatever its name is. */
  private static final class AnyServer extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
