package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs a POST to the root of a service of AWS: Signature Version 4. Pure.
 *
 * @param keyId the access key
 * @param secret its secret
 * @param session the session token; empty without
 */
record AwsSignature(String keyId, String secret, String session) {
  private static final String ALGORITHM = "AWS4-HMAC-SHA256";
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

  /**
   * The headers to add to a request.
   *
   * @param headers what else is signed, by names in lower case; with {@code host}
   */
  Map<String, String> sign(
      String service, String region, Map<String, String> headers, byte[] body, Instant now) {
    String time = TIME.format(now);
    String scope = time.substring(0, 8) + "/" + region + "/" + service + "/aws4_request";
    SortedMap<String, String> signed = new TreeMap<>(headers);
    signed.put("x-amz-date", time);
    if (!session.isEmpty()) {
      signed.put("x-amz-security-token", session);
    }
    StringBuilder request = new StringBuilder("POST\n/\n\n");
    signed.forEach((name, value) -> request.append(name + ":" + value.strip() + "\n"));
    String names = String.join(";", signed.keySet());
    request.append("\n" + names + "\n" + hex(digest(body)));
    String text =
        ALGORITHM
            + "\n"
            + time
            + "\n"
            + scope
            + "\n"
            + hex(digest(request.toString().getBytes(UTF_8)));
    byte[] key = ("AWS4" + secret).getBytes(UTF_8);
    for (String part : scope.split("/", -1)) {
      key = mac(key, part);
    }
    signed.remove("host"); // the client sets it
    signed.put(
        "Authorization",
        ALGORITHM
            + " Credential="
            + keyId
            + "/"
            + scope
            + ", SignedHeaders="
            + names
            + ", Signature="
            + hex(mac(key, text)));
    return signed;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static byte[] digest(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("SHA-256 fails", e);
    }
  }

  private static byte[] mac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("HMAC fails", e);
    }
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "access key";
  }
}
