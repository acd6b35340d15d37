package io.cephcsi.driver.app;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The file of {@code serve --config}, in YAML. Unknown keys are errors: a misspelt one must not be
 * ignored.
 */
final class ConfigFile {
  private ConfigFile() {}

  /**
   * Reads a file.
   *
   * @throws ConfigException when it cannot be read or is not valid, saying where
   */
  static DriverConfig read(Path file) {
    try {
      Root root =
          JsonMapper.builder(new YAMLFactory())
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
              .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
              .build()
              .readValue(Files.readAllBytes(file), Root.class);
      if (root == null) {
        throw new ConfigException("is empty");
      }
      return root.toConfig();
    } catch (UnrecognizedPropertyException e) {
      throw new ConfigException(
          file + ": the key " + e.getPropertyName() + " is not known" + lineOf(file, e), e);
    } catch (JacksonException e) {
      throw new ConfigException(file + ": " + e.getOriginalMessage() + where(e), e);
    } catch (NoSuchFileException e) {
      throw new ConfigException(file + " does not exist", e);
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e.getMessage(), e);
    } catch (ConfigException e) {
      throw new ConfigException(file + ": " + e.getMessage(), e);
    }
  }

  private static String where(JacksonException e) {
    return e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
  }

  /** The line of an unknown key: the exception only knows how far the file was read then. */
  private static String lineOf(Path file, UnrecognizedPropertyException e) {
    String pointer =
        e.getPath().stream()
            .map(r -> "/" + (r.getFieldName() == null ? r.getIndex() : r.getFieldName()))
            .collect(Collectors.joining());
    try (JsonParser parser = new YAMLFactory().createParser(file.toFile())) {
      while (parser.nextToken() != null) {
        if (parser.currentToken() == JsonToken.FIELD_NAME
            && parser.getParsingContext().pathAsPointer().toString().equals(pointer)) {
          return " (line " + parser.currentTokenLocation().getLineNr() + ")";
        }
      }
      return "";
    } catch (IOException changed) {
      return "";
    }
  }

  /** The file's top level; keys are those of {@link DriverConfig}. Times are seconds. */
  private record Root(
      @JsonProperty("clustersFile") @Nullable String clustersFile,
      @JsonProperty("metricsPort") @Nullable Integer metricsPort,
      @JsonProperty("metricsIp") @Nullable String metricsIp,
      @JsonProperty("metricsPath") @Nullable String metricsPath,
      @JsonProperty("connectTimeoutSeconds") @Nullable Integer connectTimeoutSeconds,
      @JsonProperty("operationTimeoutSeconds") @Nullable Integer operationTimeoutSeconds,
      @JsonProperty("gracePeriodSeconds") @Nullable Integer gracePeriodSeconds,
      @JsonProperty("reclaims") @Nullable Integer reclaims,
      @JsonProperty("reclaimsPerCluster") @Nullable Integer reclaimsPerCluster,
      @JsonProperty("drivers") @Nullable List<Entry> drivers,
      @JsonProperty("rbdHardMaxCloneDepth") @Nullable Integer hardDepth,
      @JsonProperty("rbdSoftMaxCloneDepth") @Nullable Integer softDepth,
      @JsonProperty("maxSnapshotsOnImage") @Nullable Integer maxSnapshots,
      @JsonProperty("minSnapshotsOnImage") @Nullable Integer minSnapshots,
      @JsonProperty("setMetadata") @Nullable Boolean setMetadata,
      @JsonProperty("clusterName") @Nullable String clusterName,
      @JsonProperty("groupsKeepVolumes") @Nullable Boolean groupsKeepVolumes) {
    DriverConfig toConfig() {
      return new DriverConfig(
          clustersFile == null ? ClusterDirectory.DEFAULT_FILE : Endpoints.path(clustersFile),
          new MetricsEndpoint(
              metricsIp == null ? "" : metricsIp,
              or(metricsPort, 0),
              metricsPath == null ? MetricsEndpoint.DEFAULT_PATH : metricsPath),
          Duration.ofSeconds(or(connectTimeoutSeconds, ServeCommand.CONNECT_SECONDS)),
          Duration.ofSeconds(or(operationTimeoutSeconds, ServeCommand.OPERATION_SECONDS)),
          Duration.ofSeconds(or(gracePeriodSeconds, ServeCommand.GRACE_SECONDS)),
          or(reclaims, ServeCommand.RECLAIMS),
          or(reclaimsPerCluster, DriverConfig.RECLAIMS_PER_CLUSTER),
          drivers == null ? List.of() : drivers.stream().map(Root::driver).toList(),
          limits(),
          new ImageLabels(
              setMetadata != null && setMetadata, clusterName == null ? "" : clusterName),
          groupsKeepVolumes != null && groupsKeepVolumes);
    }

    private CloneLimits limits() {
      CloneLimits usual = CloneLimits.DEFAULT;
      try {
        return new CloneLimits(
            or(hardDepth, usual.hardDepth()),
            or(softDepth, usual.softDepth()),
            or(maxSnapshots, usual.maxSnapshots()),
            or(minSnapshots, usual.minSnapshots()));
      } catch (VolumeException e) {
        throw new ConfigException(String.valueOf(e.getMessage()), e);
      }
    }

    private static DriverConfig.Driver driver(@Nullable Entry entry) {
      if (entry == null) {
        throw new ConfigException("drivers has an empty element");
      }
      return entry.toDriver();
    }

    private static int or(@Nullable Integer value, int otherwise) {
      return value == null ? otherwise : value;
    }
  }

  /** One of the file's drivers. */
  private record Entry(
      @JsonProperty("type") @Nullable String type,
      @JsonProperty("name") @Nullable String name,
      @JsonProperty("endpoint") @Nullable String endpoint,
      @JsonProperty("csiAddonsEndpoint") @Nullable String csiAddonsEndpoint,
      @JsonProperty("nodeId") @Nullable String nodeId,
      @JsonProperty("instanceId") @Nullable String instanceId,
      @JsonProperty("controller") @Nullable Boolean controller,
      @JsonProperty("node") @Nullable Boolean node,
      @JsonProperty("credentials") @Nullable String credentials,
      @JsonProperty("attach") @Nullable Boolean attach,
      @JsonProperty("nodeFolder") @Nullable String nodeFolder,
      @JsonProperty("maxVolumes") @Nullable Integer maxVolumes,
      @JsonProperty("topology") @Nullable Map<String, String> topology,
      @JsonProperty("domainLabels") @Nullable List<String> domainLabels,
      @JsonProperty("nodeReclaimBytesPerSecond") @Nullable Long reclaimBytesPerSecond) {
    DriverConfig.Driver toDriver() {
      if (type == null || endpoint == null) {
        throw new ConfigException("each driver needs type (rbd or cephfs) and endpoint");
      }
      DriverConfig.Type kind = Endpoints.type(type.toLowerCase(Locale.ROOT));
      return new DriverConfig.Driver(
          kind,
          name == null ? kind.defaultName() : name,
          Endpoints.socket(endpoint),
          Optional.ofNullable(csiAddonsEndpoint).map(Endpoints::socket),
          nodeId == null ? "" : nodeId,
          instanceId == null ? ServeCommand.INSTANCE_ID : instanceId,
          controller == null || controller,
          node != null && node,
          Optional.ofNullable(credentials).map(Path::of),
          attach != null && attach,
          new NodeSettings(
              Optional.ofNullable(nodeFolder).map(Endpoints::path),
              maxVolumes == null ? 0 : maxVolumes,
              topology == null ? Map.of() : topology,
              domainLabels == null ? List.of() : domainLabels,
              reclaimBytesPerSecond == null ? 0 : reclaimBytesPerSecond));
    }
  }
}
