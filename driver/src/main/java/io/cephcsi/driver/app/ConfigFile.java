package io.cephcsi.driver.app;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.driver.cluster.ClusterDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
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
              .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
              .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
              .build()
              .readValue(Files.readAllBytes(file), Root.class);
      if (root == null) {
        throw new ConfigException("is empty");
      }
      return root.toConfig();
    } catch (JacksonException e) {
      throw new ConfigException(file + ": " + e.getOriginalMessage() + where(e), e);
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e.getMessage(), e);
    } catch (ConfigException e) {
      throw new ConfigException(file + ": " + e.getMessage(), e);
    }
  }

  private static String where(JacksonException e) {
    return e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
  }

  /** The file's top level; keys are those of {@link DriverConfig}. Times are seconds. */
  private record Root(
      @JsonProperty("clustersFile") @Nullable String clustersFile,
      @JsonProperty("metricsPort") @Nullable Integer metricsPort,
      @JsonProperty("connectTimeoutSeconds") @Nullable Integer connectTimeoutSeconds,
      @JsonProperty("operationTimeoutSeconds") @Nullable Integer operationTimeoutSeconds,
      @JsonProperty("gracePeriodSeconds") @Nullable Integer gracePeriodSeconds,
      @JsonProperty("reclaims") @Nullable Integer reclaims,
      @JsonProperty("reclaimsPerCluster") @Nullable Integer reclaimsPerCluster,
      @JsonProperty("drivers") @Nullable List<Entry> drivers) {
    DriverConfig toConfig() {
      return new DriverConfig(
          clustersFile == null ? ClusterDirectory.DEFAULT_FILE : Path.of(clustersFile),
          or(metricsPort, 0),
          Duration.ofSeconds(or(connectTimeoutSeconds, ServeCommand.CONNECT_SECONDS)),
          Duration.ofSeconds(or(operationTimeoutSeconds, ServeCommand.OPERATION_SECONDS)),
          Duration.ofSeconds(or(gracePeriodSeconds, ServeCommand.GRACE_SECONDS)),
          or(reclaims, ServeCommand.RECLAIMS),
          or(reclaimsPerCluster, DriverConfig.RECLAIMS_PER_CLUSTER),
          drivers == null ? List.of() : drivers.stream().map(Entry::toDriver).toList());
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
      @JsonProperty("node") @Nullable Boolean node) {
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
          node != null && node);
    }
  }
}
