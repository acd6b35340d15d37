package io.cephcsi.driver.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.Endpoints;
import io.cephcsi.driver.app.NodeSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The settings of one driver: options of {@code serve}, and keys of an element of {@code drivers}
 * in its configuration file. picocli or Jackson fills them; what is not given keeps its default.
 */
final class DriverSettings {
  static final String INSTANCE_ID = "default";

  @Option(
      names = "--type",
      paramLabel = "TYPE",
      description = "rbd or cephfs; or liveness: asks the driver at --endpoint, for its metric")
  @JsonProperty("type")
  private @Nullable String type;

  @Option(
      names = "--drivername",
      paramLabel = "NAME",
      description = "name of the driver (rbd.csi.ceph.com, cephfs.csi.ceph.com)")
  @JsonProperty("name")
  private @Nullable String name;

  @Option(
      names = "--endpoint",
      paramLabel = "unix://PATH",
      defaultValue = "unix:///tmp/csi.sock", // a file has to name it
      description = "socket of the CSI services")
  @JsonProperty("endpoint")
  private @Nullable String endpoint;

  @Option(
      names = "--csi-addons-endpoint",
      paramLabel = "unix://PATH",
      description = "socket of the CSI-Addons services; without it they are served beside CSI's")
  @JsonProperty("csiAddonsEndpoint")
  private @Nullable String addonsEndpoint;

  @Option(names = "--nodeid", paramLabel = "ID", description = "id of this node")
  @JsonProperty("nodeId")
  private String nodeId = "";

  @Option(
      names = "--controllerserver",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "serve the controller's calls; with neither this nor --nodeserver both are")
  @JsonProperty("controller")
  private @Nullable Boolean controller;

  @Option(
      names = "--nodeserver",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "serve the node's calls")
  @JsonProperty("node")
  private boolean node;

  @Option(
      names = "--instanceid",
      paramLabel = "ID",
      description = "tells several drivers that share a pool apart")
  @JsonProperty("instanceId")
  private String instanceId = INSTANCE_ID;

  @Option(
      names = "--credentials",
      paramLabel = "DIR",
      description = {
        "credentials of the driver's own, for calls that carry none: one sub-folder for each",
        "clusterID with the files userID and userKey; without it the driver does not list, and",
        "does not tell capacity and condition"
      })
  @JsonProperty("credentials")
  private @Nullable String credentials;

  @Option(
      names = "--attach",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "publish volumes to nodes even before a node plugin has registered")
  @JsonProperty("attach")
  private boolean attach;

  @Option(
      names = "--node-folder",
      paramLabel = "DIR",
      description = "where the node keeps exports and unfinished mounts (/run/ceph-csi/NAME)")
  @JsonProperty("nodeFolder")
  private @Nullable String nodeFolder;

  @Option(
      names = "--max-volumes",
      paramLabel = "N",
      description = "how many volumes the node can have; 0: the CO decides")
  @JsonProperty("maxVolumes")
  private long maxVolumes;

  @Option(
      names = "--topology",
      paramLabel = "LABEL=VALUE",
      split = ",",
      description = "where the node is, as volumes with topology need it; may be repeated")
  @JsonProperty("topology")
  private Map<String, String> topology = new LinkedHashMap<>();

  @Option(
      names = "--domainlabels",
      paramLabel = "LABEL",
      split = ",",
      description =
          "labels of the Node object in Kubernetes that say where the node is; may be repeated")
  @JsonProperty("domainLabels")
  private List<String> domainLabels = new ArrayList<>();

  @Option(
      names = "--node-reclaim-rate",
      paramLabel = "BYTES",
      description =
          "free bytes of a volume that the node discards in a second at most; 0: no bound")
  @JsonProperty("nodeReclaimBytesPerSecond")
  private long nodeReclaimBytesPerSecond;

  /** The type as it was given; empty when it was not. */
  String type() {
    return type == null ? "" : type;
  }

  /** The socket of the CSI services. */
  Path socket() {
    return Endpoints.socket(endpoint == null ? "" : endpoint);
  }

  /**
   * As the command line says it. As in ceph-csi, what is empty is not given, and with neither role
   * both are served.
   *
   * @throws ConfigException when a setting is missing or not valid
   */
  DriverConfig.Driver fromOptions() {
    if (type == null) {
      throw new ConfigException("--type is required: rbd or cephfs (or use --config)");
    }
    name = name == null || name.isEmpty() ? null : name;
    addonsEndpoint = addonsEndpoint == null || addonsEndpoint.isEmpty() ? null : addonsEndpoint;
    instanceId = instanceId.isEmpty() ? INSTANCE_ID : instanceId;
    boolean controls = Boolean.TRUE.equals(controller);
    boolean both = !controls && !node;
    return driver(Endpoints.type(type), controls || both, node || (both && !nodeId.isEmpty()));
  }

  /**
   * As a configuration file says it.
   *
   * @throws ConfigException when a setting is missing or not valid
   */
  DriverConfig.Driver fromFile() {
    if (type == null || endpoint == null) {
      throw new ConfigException("each driver needs type (rbd or cephfs) and endpoint");
    }
    return driver(
        Endpoints.type(type.toLowerCase(Locale.ROOT)), !Boolean.FALSE.equals(controller), node);
  }

  private DriverConfig.Driver driver(
      DriverConfig.Type kind, boolean controllerServed, boolean nodeServed) {
    return new DriverConfig.Driver(
        kind,
        name == null ? kind.defaultName() : name,
        socket(),
        Optional.ofNullable(addonsEndpoint).map(Endpoints::socket),
        nodeId,
        instanceId,
        controllerServed,
        nodeServed,
        Optional.ofNullable(credentials).map(Endpoints::path),
        attach,
        new NodeSettings(
            Optional.ofNullable(nodeFolder).map(Endpoints::path),
            maxVolumes,
            topology,
            domainLabels,
            nodeReclaimBytesPerSecond));
  }
}
