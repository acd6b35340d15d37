package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.http.Tls;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Secrets and ConfigMaps that a KMS needs.
 *
 * @param found the API that has them; empty outside a pod
 */
record KubernetesObjects(Optional<KubernetesApi> found) {
  /** Whether there is an API. */
  boolean areThere() {
    return found.isPresent();
  }

  /**
   * The API.
   *
   * @throws VolumeException FAILED_PRECONDITION outside a pod
   */
  KubernetesApi api() {
    return found.orElseThrow(
        () ->
            new VolumeException(
                Reason.FAILED_PRECONDITION,
                "the configuration of the KMS names objects of Kubernetes, and this process is in"
                    + " no pod (KUBERNETES_SERVICE_HOST is not set)"));
  }

  /**
   * The data of a Secret.
   *
   * @throws VolumeException FAILED_PRECONDITION when there is none
   */
  SecretData secret(String namespace, String secret, Deadline deadline) {
    return secret(List.of(namespace), secret, deadline);
  }

  /** As {@link #secret(String, String, Deadline)}, of the first namespace that has the Secret. */
  SecretData secret(List<String> namespaces, String secret, Deadline deadline) {
    for (String namespace : namespaces) {
      Optional<Map<String, byte[]>> data = api().secret(namespace, secret, deadline);
      if (data.isPresent()) {
        return new SecretData("Secret " + namespace + "/" + secret, data.get());
      }
    }
    throw new VolumeException(
        Reason.FAILED_PRECONDITION,
        "there is no Secret "
            + secret
            + " in the namespace "
            + String.join(" or ", namespaces)
            + ", which the configuration of the KMS names");
  }

  /**
   * What a Secret has.
   *
   * @param name for messages
   */
  record SecretData(String name, Map<String, byte[]> data) {
    /** A key, which the caller wipes. */
    byte[] bytes(String key) {
      byte[] value = data.get(key);
      if (value == null || value.length == 0) {
        throw new VolumeException(Reason.FAILED_PRECONDITION, name + " has no key " + key);
      }
      return value;
    }

    /** A key as text, without white space around it. */
    String text(String key) {
      return new String(bytes(key), UTF_8).strip();
    }

    /** A key as text that may be absent, or have no text. */
    Optional<String> find(String key) {
      return Optional.ofNullable(data.get(key))
          .map(value -> new String(value, UTF_8).strip())
          .filter(text -> !text.isEmpty());
    }

    /** A key as token. */
    String token(String key) {
      return Checks.token("key " + key + " of " + name, text(key));
    }

    /** A key as passphrase; white space belongs to it. */
    Passphrase passphrase(String key) {
      byte[] value = bytes(key);
      Passphrase passphrase = Checks.passphrase("key " + key + " of " + name, value);
      Arrays.fill(value, (byte) 0);
      return passphrase;
    }

    /** A key as PEM. */
    Tls.Pem pem(String key) {
      return new Tls.Pem("key " + key + " of " + name, bytes(key));
    }

    /**
     * Refuses other keys than these.
     *
     * @throws VolumeException FAILED_PRECONDITION naming one
     */
    SecretData only(List<String> keys) {
      for (String key : data.keySet()) {
        if (!keys.contains(key)) {
          throw new VolumeException(
              Reason.FAILED_PRECONDITION,
              name + " has the key " + key + ", which is not one of " + String.join(", ", keys));
        }
      }
      return this;
    }

    @Override
    public String toString() {
      return name;
    }
  }
}
