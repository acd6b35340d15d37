package io.cephcsi.driver.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A key with a certificate that it signed itself, made by keytool. */
public final class TestKeys {
  private static final String PASSWORD = "test-password";

  private final KeyStore store;

  private TestKeys(KeyStore store) {
    this.store = store;
  }

  /**
   * A new one.
   *
   * @param algorithm EC or RSA
   * @param names such as {@code ip:127.0.0.1}
   */
  public static TestKeys make(Path folder, String algorithm, String names) throws Exception {
    Path file = folder.resolve("keys-" + System.nanoTime() + ".p12");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                algorithm,
                "-alias",
                "server",
                "-dname",
                "CN=test",
                "-ext",
                "SAN=" + names,
                "-ext",
                "BC=ca:true",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                PASSWORD));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), UTF_8);
    if (keytool.waitFor() != 0) {
      throw new IOException(output);
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream stream = Files.newInputStream(file)) {
      store.load(stream, PASSWORD.toCharArray());
    }
    return new TestKeys(store);
  }

  /** The certificate as PEM. */
  public String certificate() throws GeneralSecurityException {
    return pem("CERTIFICATE", store.getCertificate("server").getEncoded());
  }

  /** The key as PEM, PKCS #8. */
  public String key() throws GeneralSecurityException {
    return pem("PRIVATE KEY", store.getKey("server", PASSWORD.toCharArray()).getEncoded());
  }

  private static String pem(String type, byte[] der) {
    return "-----BEGIN "
        + type
        + "-----\n"
        + Base64.getMimeEncoder().encodeToString(der)
        + "\n-----END "
        + type
        + "-----\n";
  }

  /** For a server with this key, which trusts clients with a certificate that this key signed. */
  public SSLContext context() throws GeneralSecurityException {
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, PASSWORD.toCharArray());
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    KeyStore clients = KeyStore.getInstance(KeyStore.getDefaultType());
    try {
      clients.load(null, null);
    } catch (IOException e) {
      throw new GeneralSecurityException(e);
    }
    clients.setCertificateEntry("client", store.getCertificate("server"));
    trust.init(clients);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }
}
