package io.cephcsi.driver.kms;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Wraps passphrases by a key of AWS KMS, as ceph-csi does: without an encryption context, so that
 * the text is not bound to a volume.
 *
 * @param id of the KMS
 * @param calls to AWS
 * @param servers where AWS is
 * @param source who the driver is there
 */
record AwsKms(String id, RestCalls calls, CloudServers servers, AwsAccess.Source source)
    implements KeyWrapper {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Path TOKEN = Path.of("/run/secrets/tokens/oidc-token");

  /** By keys of a Secret. */
  static AwsKms byKeys(
      String id, Section section, KubernetesObjects objects, CloudServers servers) {
    AwsAccess.Source source = AwsAccess.ofSecret(section, objects);
    return new AwsKms(id, new RestCalls(name(id), servers.tls()), servers, source);
  }

  /** By a role. */
  static AwsKms byRole(
      String id, Section section, KubernetesObjects objects, CloudServers servers) {
    return byRole(id, section, objects, servers, TOKEN);
  }

  /** As {@link #byRole(String, Section, KubernetesObjects, CloudServers)}, by another token. */
  static AwsKms byRole(
      String id, Section section, KubernetesObjects objects, CloudServers servers, Path token) {
    RestCalls calls = new RestCalls(name(id), servers.tls());
    AwsAccess.Source source = new AwsAccess.ByRole(calls, servers, section, objects, token);
    return new AwsKms(id, calls, servers, source);
  }

  private static String name(String id) {
    return "KMS " + id + ", AWS";
  }

  @Override
  public boolean isByTenant() {
    return source.isByTenant();
  }

  @Override
  public String wrap(KeyOwner owner, Passphrase passphrase) {
    Deadline deadline = Deadline.after(TIMEOUT);
    AwsAccess access = source.of(owner, deadline);
    byte[] bytes = passphrase.bytes();
    String plain = Base64.getEncoder().encodeToString(bytes);
    Arrays.fill(bytes, (byte) 0);
    RestCalls.Reply reply =
        call(
            access,
            "Encrypt",
            Map.of("KeyId", access.key(), "Plaintext", plain),
            List.of(plain, passphrase.text()),
            "to wrap the passphrase of " + owner.volumeId(),
            deadline);
    String blob = reply.at("CiphertextBlob");
    decoded(blob);
    return blob;
  }

  @Override
  public Passphrase unwrap(KeyOwner owner, String wrapped) {
    Deadline deadline = Deadline.after(TIMEOUT);
    AwsAccess access = source.of(owner, deadline);
    RestCalls.Reply reply =
        call(
            access,
            "Decrypt",
            Map.of("CiphertextBlob", wrapped),
            List.of(),
            "to unwrap the passphrase of " + owner.volumeId(),
            deadline);
    requireOfAccount(access, reply.at("KeyId"), owner);
    byte[] plain = decoded(reply.at("Plaintext"));
    try {
      return Checks.passphrase("the passphrase of " + owner.volumeId(), plain);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  /**
   * AWS takes the text of any key that the role may use, also of somebody else's who let it. A key
   * that was replaced by another one of the same account still opens what it has wrapped.
   */
  private void requireOfAccount(AwsAccess access, String keyId, KeyOwner owner) {
    Optional<String> wanted = AwsAccess.account(access.key());
    if (wanted.isPresent() && !wanted.equals(AwsAccess.account(keyId))) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          name(id)
              + ": the stored passphrase of "
              + owner.volumeId()
              + " was wrapped by a key of another account than that of the configured key");
    }
  }

  private byte[] decoded(String base64) {
    try {
      byte[] bytes = Base64.getDecoder().decode(base64);
      if (bytes.length > 0) {
        return bytes;
      }
    } catch (IllegalArgumentException e) {
      // as below
    }
    throw calls.strange("Base64 of a key");
  }

  private RestCalls.Reply call(
      AwsAccess access,
      String action,
      Map<String, String> body,
      List<String> secrets,
      String what,
      Deadline deadline) {
    String address = servers.address("https://" + AwsAccess.host("kms", access.region()));
    byte[] json = RestCalls.json(body).getBytes(StandardCharsets.UTF_8);
    URI uri = URI.create(address + "/");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri).POST(BodyPublishers.ofByteArray(json));
    Map<String, String> headers =
        Map.of(
            "content-type",
            "application/x-amz-json-1.1",
            "host",
            uri.getRawAuthority(),
            "x-amz-target",
            "TrentService." + action);
    access
        .signature()
        .sign("kms", access.region(), headers, json, Instant.now())
        .forEach(request::header);
    RestCalls.Reply reply = calls.call(request.build(), secrets, deadline);
    if (!reply.isGood()) {
      throw calls.refused(Reason.FAILED_PRECONDITION, what, reply);
    }
    return reply;
  }
}
