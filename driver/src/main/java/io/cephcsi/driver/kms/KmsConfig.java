package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The KMS of ceph-csi's configuration: the file {@code config.json}, or, when there is no file, the
 * ConfigMap that {@code KMS_CONFIGMAP_NAME} names. It is read at each use, so that a change needs
 * no restart; what is made from a section is kept while the section stays the same. Safe for
 * several threads.
 */
public final class KmsConfig implements KmsCatalog {
  /** Where ceph-csi's charts put the file. */
  public static final Path DEFAULT_FILE =
      Path.of("/etc/ceph-csi-encryption-kms-config/config.json");

  private static final Logger LOG = LoggerFactory.getLogger(KmsConfig.class);
  private static final int LONGEST_LINE = 2000;
  private static final String DEFAULT_CONFIG_MAP = "csi-kms-connection-details";
  private static final int LARGEST = 3 << 19;
  private static final int SHOWN = 100;
  private static final int MOST_KEPT = 1000;
  private static final Duration READ = Duration.ofSeconds(10);

  private final Path file;
  private final KubernetesObjects objects;
  private final String configMap;
  private final Cache<Key, Kms> made =
      Caffeine.newBuilder().maximumSize(MOST_KEPT).expireAfterAccess(Duration.ofHours(1)).build();

  private record Key(String id, Section section) {}

  /**
   * @param file the configuration; need not be there
   * @param kubernetes the API; empty outside a pod
   * @param environment of the process: {@code KMS_CONFIGMAP_NAME}
   */
  public KmsConfig(Path file, Optional<KubernetesApi> kubernetes, Map<String, String> environment) {
    this.file = file;
    this.objects = new KubernetesObjects(kubernetes);
    String named = environment.getOrDefault("KMS_CONFIGMAP_NAME", "");
    this.configMap = named.isEmpty() ? DEFAULT_CONFIG_MAP : named;
  }

  /** As the process has it: with the API of the pod that it runs in, and its environment. */
  public static KmsConfig ofProcess(Path file) {
    return new KmsConfig(file, KubernetesApi.ofPod(System.getenv()), System.getenv());
  }

  @Override
  public Kms require(String id) {
    if (id.isEmpty() || id.equals(Kms.DEFAULT_ID)) {
      return new SecretPassphrase();
    }
    Key key = new Key(id, section("KMS " + PlainText.escape(id, SHOWN), id));
    Kms known = made.getIfPresent(key);
    return known != null ? known : made.get(key, missing -> make(id, missing.section()));
  }

  private Section section(String name, String id) {
    Optional<byte[]> text = content();
    if (text.isPresent()) {
      String where = name + " in " + file;
      JsonNode all = object(text.get(), file.toString());
      JsonNode found = all.get(id);
      if (found == null) {
        throw VolumeException.invalid(name + " is not configured in " + file);
      }
      if (!found.isObject()) {
        throw VolumeException.invalid(where + " must be a JSON object");
      }
      return Section.of(where, found);
    }
    String absent = name + " is not configured: there is no file " + file;
    if (!objects.areThere()) {
      throw VolumeException.invalid(absent);
    }
    return ofConfigMap(name, absent, id, objects.api());
  }

  private Section ofConfigMap(String name, String absent, String id, KubernetesApi api) {
    String map;
    Optional<Map<String, String>> data;
    try {
      map = "ConfigMap " + api.ownNamespace() + "/" + configMap;
      data = api.configMap(api.ownNamespace(), configMap, Deadline.after(READ));
    } catch (VolumeException e) {
      // A right, or an account, is missing for good where nobody has set the ConfigMap up.
      if (e.reason() == Reason.FAILED_PRECONDITION || !api.hasToken()) {
        throw VolumeException.invalid(absent + ", and " + e.getMessage());
      }
      throw e;
    }
    String section =
        data.orElseThrow(() -> VolumeException.invalid(absent + " and no " + map)).get(id);
    if (section == null) {
      throw VolumeException.invalid(name + " is not configured in " + map);
    }
    String where = name + " in " + map;
    return Section.of(where, object(section.getBytes(UTF_8), where));
  }

  private Optional<byte[]> content() {
    try (InputStream stream = Files.newInputStream(file)) {
      byte[] text = stream.readNBytes(LARGEST + 1);
      if (text.length > LARGEST) {
        throw unusable(file.toString(), "it has more than " + LARGEST + " bytes");
      }
      return Optional.of(text);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw unusable(file.toString(), "it cannot be read");
    }
  }

  /** Messages have the position of a mistake, not the text. */
  private static JsonNode object(byte[] json, String where) {
    try (JsonParser parser =
        Json.mapper()
            .getFactory()
            .createParser(json)
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)) {
      JsonNode tree = Json.mapper().readTree(parser);
      if (tree == null || !tree.isObject() || parser.nextToken() != null) {
        throw unusable(where, "it must be one JSON object");
      }
      return tree;
    } catch (JsonProcessingException e) {
      throw unusable(
          where,
          "it is no JSON, or has a field twice: see line "
              + (e.getLocation() == null ? 1 : e.getLocation().getLineNr()));
    } catch (IOException e) {
      throw unusable(where, "it cannot be read");
    }
  }

  private static VolumeException unusable(String where, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, "the KMS configuration " + where + " cannot be used: " + why);
  }

  private Kms make(String id, Section section) {
    String type =
        section
            .find(KmsTypes.TYPE)
            .or(() -> section.find(KmsTypes.PROVIDER))
            .orElseThrow(() -> section.wrong(KmsTypes.TYPE, "is missing"));
    KmsTypes.Maker maker = KmsTypes.ALL.get(type);
    if (maker == null) {
      throw section.wrong(
          KmsTypes.TYPE,
          "must be one of "
              + String.join(", ", KmsTypes.ALL.keySet())
              + ", not "
              + PlainText.show(type));
    }
    return Objects.requireNonNull(maker).make(id, section, objects);
  }

  /** Says in the log which KMS the file has, and what is wrong with it. Calls no server. */
  public void report() {
    try {
      Optional<byte[]> text = content();
      if (text.isEmpty()) {
        return;
      }
      Set<String> wrong = new TreeSet<>();
      Set<String> ids = new TreeSet<>();
      object(text.get(), file.toString()).fieldNames().forEachRemaining(ids::add);
      for (String id : ids) {
        try {
          require(id);
        } catch (VolumeException e) {
          wrong.add(String.valueOf(e.getMessage()));
        }
      }
      LOG.info("KMS of {}: {}", file, PlainText.escape(String.join(", ", ids), LONGEST_LINE));
      wrong.forEach(LOG::warn);
    } catch (VolumeException e) {
      LOG.warn("{}", e.getMessage());
    }
  }
}
