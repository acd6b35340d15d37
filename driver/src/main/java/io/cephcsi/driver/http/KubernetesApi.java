package io.cephcsi.driver.http;

import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads objects of Kubernetes with the service account of the pod. Token and certificate are read
 * for each call, as they are replaced from time to time. Calls block until their deadline at most.
 * Safe for several threads.
 */
public final class KubernetesApi {
  private static final Path ACCOUNT = Path.of("/var/run/secrets/kubernetes.io/serviceaccount");
  private static final Pattern LABEL = Pattern.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");
  private static final int LONGEST_NAME = 253;
  private static final int TOKEN_SECONDS = 600; // the shortest that the API gives
  private static final int SHOWN = 100;
  private static final String STATUS = "status";

  private final Path account;
  private final String address;
  private final String namespace;
  private byte[] trusted = new byte[0];
  private @Nullable HttpCalls calls;

  /**
   * @param account the folder with the files {@code ca.crt} and {@code token}
   * @param address of the API, such as {@code https://10.0.0.1:443}
   * @param namespace of the pod; empty when it is not known
   */
  public KubernetesApi(Path account, String address, String namespace) {
    this.account = account;
    this.address = address;
    this.namespace = namespace;
  }

  /** Of the cluster that this process is a pod of; empty when it is in none. */
  public static Optional<KubernetesApi> ofPod(Map<String, String> environment) {
    String host = environment.getOrDefault("KUBERNETES_SERVICE_HOST", "");
    String port = environment.getOrDefault("KUBERNETES_SERVICE_PORT", "443");
    String address = host.contains(":") ? "[" + host + "]" : host;
    return host.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new KubernetesApi(
                ACCOUNT,
                "https://" + address + ":" + port,
                environment.getOrDefault("POD_NAMESPACE", "")));
  }

  /**
   * The token of the pod's own service account, read now.
   *
   * @throws VolumeException UNAVAILABLE when it cannot be read
   */
  public String ownToken() {
    Path file = account.resolve("token");
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      throw new VolumeException(Reason.UNAVAILABLE, "the token of this pod " + unreadable(file, e));
    }
  }

  /** Whether the pod has a token: without one the API answers nothing. */
  public boolean hasToken() {
    return Files.exists(account.resolve("token"));
  }

  /**
   * The namespace of the pod.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is not known
   */
  public String ownNamespace() {
    if (namespace.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "the namespace of this pod is not known: set POD_NAMESPACE in its environment");
    }
    return namespace;
  }

  /**
   * The labels of a node. The service account needs the right to get nodes.
   *
   * @throws VolumeException UNAVAILABLE when the API does not say them
   */
  public Map<String, String> labelsOf(String node, Deadline deadline) {
    String object = "node " + PlainText.escape(node, SHOWN);
    Map<?, ?> found =
        get("/api/v1/nodes/" + name(object, node), object, deadline)
            .orElseThrow(() -> unavailable(object, "it does not exist (status 404)"));
    if (!(found.get("metadata") instanceof Map<?, ?> metadata)) {
      throw unavailable(object, "the answer is no object with metadata");
    }
    return texts(metadata.get("labels"));
  }

  /**
   * The data of a Secret; empty when there is none. The service account needs the right to get it.
   *
   * @throws VolumeException FAILED_PRECONDITION when that is missing; UNAVAILABLE without an answer
   */
  public Optional<Map<String, byte[]>> secret(String of, String secret, Deadline deadline) {
    String object = object("Secret", of, secret);
    return get(path(object, of, "secrets", secret), object, deadline)
        .map(
            found -> {
              Map<String, byte[]> data = new LinkedHashMap<>();
              texts(found.get("data"))
                  .forEach((key, value) -> data.put(key, decode(object, key, value)));
              return data;
            });
  }

  private static byte[] decode(String object, String key, String value) {
    try {
      return Base64.getDecoder().decode(value);
    } catch (IllegalArgumentException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          object + ": its key " + PlainText.escape(key, SHOWN) + " is not Base64");
    }
  }

  /** The data of a ConfigMap; otherwise as {@link #secret}. */
  public Optional<Map<String, String>> configMap(String of, String configMap, Deadline deadline) {
    String object = object("ConfigMap", of, configMap);
    return get(path(object, of, "configmaps", configMap), object, deadline)
        .map(found -> texts(found.get("data")));
  }

  /**
   * A token of a ServiceAccount, which lasts ten minutes. The pod's service account needs the right
   * to create {@code serviceaccounts/token}.
   *
   * @return empty when there is no such account
   * @throws VolumeException as {@link #secret}
   */
  public Optional<String> tokenOf(String of, String serviceAccount, Deadline deadline) {
    String object = "token of " + object("ServiceAccount", of, serviceAccount);
    String request =
        "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":"
            + "{\"expirationSeconds\":"
            + TOKEN_SECONDS
            + "}}";
    return call(
            request(path(object, of, "serviceaccounts", serviceAccount) + "/token", object)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(request))
                .build(),
            "create",
            object,
            deadline)
        .map(answer -> token(object, answer));
  }

  private static String token(String object, Map<?, ?> answer) {
    Object token = answer.get(STATUS) instanceof Map<?, ?> status ? status.get("token") : null;
    if (!(token instanceof String text) || text.isEmpty()) {
      throw unavailable(object, "the answer has no token");
    }
    return text;
  }

  private static Map<String, String> texts(@Nullable Object object) {
    Map<String, String> texts = new LinkedHashMap<>();
    if (object instanceof Map<?, ?> found) {
      found.forEach((key, value) -> texts.put(String.valueOf(key), String.valueOf(value)));
    }
    return texts;
  }

  private static String object(String kind, String of, String name) {
    return kind + " " + PlainText.escape(of, SHOWN) + "/" + PlainText.escape(name, SHOWN);
  }

  private static String path(String object, String namespace, String kind, String name) {
    if (!LABEL.matcher(namespace).matches()) {
      throw VolumeException.invalid(object + ": this is no name of a namespace");
    }
    return "/api/v1/namespaces/" + namespace + "/" + kind + "/" + name(object, name);
  }

  /** A DNS-1123 subdomain, as names of objects are. */
  private static String name(String object, String name) {
    boolean valid = name.length() <= LONGEST_NAME;
    for (String label : valid ? name.split("\\.", -1) : new String[0]) {
      valid &= LABEL.matcher(label).matches();
    }
    if (!valid) {
      throw VolumeException.invalid(object + ": this is no name of an object of Kubernetes");
    }
    return name;
  }

  private Optional<Map<?, ?>> get(String path, String object, Deadline deadline) {
    return call(request(path, object).build(), "get", object, deadline);
  }

  private HttpRequest.Builder request(String path, String object) {
    try {
      return HttpRequest.newBuilder(URI.create(address + path))
          .header("Accept", "application/json")
          .header("Authorization", "Bearer " + ownToken());
    } catch (IllegalArgumentException e) {
      // The message of an exception about a header has the token in it.
      throw unavailable(object, "the token of the pod is malformed");
    }
  }

  private Optional<Map<?, ?>> call(
      HttpRequest request, String verb, String object, Deadline deadline) {
    HttpCalls.Answer answer;
    try {
      answer = calls(object).send(request, deadline);
    } catch (VolumeException e) {
      throw new VolumeException(e.reason(), object + " is not known: " + e.getMessage(), e);
    }
    return switch (answer.status()) {
      case 200, 201 -> Optional.of(tree(object, answer.body()));
      case 404 -> Optional.empty();
      case 403 ->
          throw new VolumeException(
              Reason.FAILED_PRECONDITION,
              object
                  + ": the service account of this pod has no right to "
                  + verb
                  + " it (status 403); give it the right by a Role");
      default -> throw unavailable(object, "status " + answer.status());
    };
  }

  private synchronized HttpCalls calls(String object) {
    Path file = account.resolve("ca.crt");
    byte[] ca;
    try {
      ca = Files.readAllBytes(file);
    } catch (IOException e) {
      throw unavailable(object, unreadable(file, e));
    }
    if (calls == null || !Arrays.equals(ca, trusted)) {
      calls =
          new HttpCalls(
              "the API of Kubernetes",
              Tls.of(Optional.of(new Tls.Pem(file.toString(), ca)), Optional.empty()));
      trusted = ca;
    }
    return calls;
  }

  private static String unreadable(Path file, IOException e) {
    return e instanceof NoSuchFileException ? "is not there: " + file : "cannot be read: " + file;
  }

  private static Map<?, ?> tree(String object, byte[] body) {
    try {
      if (Json.bounded(body) instanceof Map<?, ?> found) {
        return found;
      }
    } catch (IOException e) {
      // The exception shows parts of it.
      throw unavailable(object, "the answer is no JSON of at most " + Json.MOST_PARTS + " parts");
    }
    throw unavailable(object, "the answer is no object");
  }

  private static VolumeException unavailable(String object, String why) {
    return new VolumeException(
        Reason.UNAVAILABLE, object + " cannot be had from the API of Kubernetes: " + why);
  }
}
