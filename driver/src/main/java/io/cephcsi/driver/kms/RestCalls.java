package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.HttpCalls;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;

/** Calls to the API of a cloud, with answers in JSON. Safe for several threads. */
final class RestCalls {
  private final String name;
  private final HttpCalls calls;

  /**
   * An answer.
   *
   * @param text the body as it is
   * @param json the body; empty when it is no object of JSON
   * @param sent what of the request must not be shown, as the server may send it back
   */
  record Reply(int status, String text, Map<?, ?> json, List<String> sent) {
    @Override
    public String toString() {
      return "status " + status;
    }

    boolean isGood() {
      return status / 100 == 2;
    }

    /** A text below some keys; empty when there is none. */
    String at(String... keys) {
      Object found = json;
      for (String key : keys) {
        found = found instanceof Map<?, ?> map && map.get(key) != null ? map.get(key) : "";
      }
      return found instanceof String text ? text : "";
    }

    /** What the documented fields of errors say. */
    private List<String> errors() {
      List<String> found = new ArrayList<>();
      found.add(at("__type").replaceAll(".*#", "")); // AWS
      found.add(at("message"));
      found.add(at("Message"));
      found.add(at("error")); // Microsoft's login
      found.add(at("error_description"));
      found.add(at("error", "code")); // Azure
      found.add(at("error", "message"));
      found.add(at("errorCode")); // IBM's login
      found.add(at("errorMessage"));
      if (json.get("resources") instanceof List<?> all
          && !all.isEmpty()
          && all.get(0) instanceof Map<?, ?> first
          && first.get("errorMsg") instanceof String message) {
        found.add(message); // Key Protect
      }
      return found.stream().filter(text -> !text.isEmpty()).toList();
    }
  }

  /**
   * @param name of the KMS and the server, for messages
   */
  RestCalls(String name, SSLContext tls) {
    this.name = name;
    this.calls = new HttpCalls(name, tls);
  }

  /**
   * Sends a request that may be sent again.
   *
   * @param secrets what of it must not be shown
   * @throws VolumeException UNAVAILABLE when there is no answer, or only that the server is busy
   */
  Reply call(HttpRequest request, List<String> secrets, Deadline deadline) {
    HttpCalls.Answer answer = LongStep.call(() -> calls.send(request, deadline));
    Map<?, ?> json = Map.of();
    try {
      if (answer.body().length > 0 && Json.bounded(answer.body()) instanceof Map<?, ?> found) {
        json = found;
      }
    } catch (IOException | StackOverflowError e) {
      json = Map.of(); // XML, or a page of a proxy
    }
    Reply reply =
        new Reply(answer.status(), new String(answer.body(), UTF_8), json, List.copyOf(secrets));
    if (answer.isTemporary() || reply.at("__type").contains("Throttling")) {
      throw new VolumeException(Reason.UNAVAILABLE, name + describe(reply));
    }
    return reply;
  }

  private static String describe(Reply reply) {
    return " (status " + reply.status() + ")" + ServerErrors.shown(reply.errors(), reply.sent());
  }

  /** The server does not do what was asked. */
  VolumeException refused(Reason reason, String what, Reply reply) {
    return new VolumeException(reason, name + " refuses " + what + describe(reply));
  }

  /** The answer is not what is documented. */
  VolumeException strange(String what) {
    return new VolumeException(Reason.UNAVAILABLE, name + ": the answer has no " + what);
  }

  /** JSON of something. */
  static String json(Object value) {
    try {
      return Json.mapper().writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of texts is no JSON", null);
    }
  }

  /** A form, as it is sent. */
  static String form(Map<String, String> fields) {
    return fields.entrySet().stream()
        .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), UTF_8))
        .sorted()
        .collect(Collectors.joining("&"));
  }

  /**
   * The address of a server that a section names.
   *
   * @return without a slash at its end
   */
  static String address(Section section, String field, String text) {
    try {
      URI uri = new URI(text);
      if ("https".equalsIgnoreCase(uri.getScheme())
          && uri.getHost() != null
          && uri.getRawUserInfo() == null
          && uri.getRawQuery() == null
          && uri.getRawFragment() == null) {
        return text.replaceAll("/+$", "");
      }
    } catch (URISyntaxException e) {
      // as below: the exception has the text
    }
    throw section.wrong(field, "must be https://HOST, without a user name, query or fragment");
  }
}
