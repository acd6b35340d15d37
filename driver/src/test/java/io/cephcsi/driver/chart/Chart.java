package io.cephcsi.driver.chart;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import com.marcnuri.helm.TemplateCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** What the Helm chart makes of values: objects of Kubernetes. Helm runs in this process. */
public final class Chart {
  /** The namespace of the release. */
  public static final String NAMESPACE = "ceph-csi";

  static final Path FOLDER = Path.of("deploy/charts/ceph-csi-java");
  static final Path VALUES = Path.of("src/test/resources/chart");
  private static final String KUBERNETES = "1.34.0";

  private final List<JsonNode> objects;

  private Chart(List<JsonNode> objects) {
    this.objects = objects;
  }

  /** The files of values that all checks go through; none stands for the defaults. */
  public static Stream<String> cases() {
    return Stream.of(
        "", "ceph-csi-rbd.yaml", "ceph-csi-cephfs.yaml", "external.yaml", "everything.yaml");
  }

  /** What is rendered with one of {@link #cases}. */
  public static Chart of(String file) {
    return rendered(file, Map.of());
  }

  /** The same with some values set, by their paths with dots. */
  static Chart rendered(String file, Map<String, Object> values) {
    return rendered(VALUES.resolve(file), "ceph", values);
  }

  /** The same of a file of values, as a release of some name. */
  public static Chart rendered(Path file, String release, Map<String, Object> values) {
    return rendered(FOLDER, file, release, values);
  }

  /** A {@link #copy} of the chart that was changed. */
  static Chart rendered(Path chart, Map<String, Object> values) {
    return rendered(chart, VALUES, "ceph", values);
  }

  /** Copies the chart into an empty folder. */
  static void copy(Path to) throws IOException {
    try (Stream<Path> files = Files.walk(FOLDER)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path copy = to.resolve(FOLDER.relativize(file));
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy);
      }
    }
  }

  private static Chart rendered(Path chart, Path file, String release, Map<String, Object> values) {
    TemplateCommand command =
        new Helm(chart)
            .template()
            .withName(release)
            .withNamespace(NAMESPACE)
            .withKubeVersion(KUBERNETES);
    if (Files.isRegularFile(file)) {
      command.withValuesFile(file);
    }
    values.forEach(command::set);
    return new Chart(parse(command.call()));
  }

  static LintResult lint() {
    return new Helm(FOLDER).lint().strict().call();
  }

  private static List<JsonNode> parse(String yaml) {
    JsonMapper mapper =
        JsonMapper.builder(new YAMLFactory())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    List<JsonNode> found = new ArrayList<>();
    try (var documents = mapper.readerFor(JsonNode.class).<JsonNode>readValues(yaml)) {
      while (documents.hasNext()) {
        JsonNode object = documents.next();
        if (!object.isNull() && !object.isMissingNode()) {
          found.add(object);
        }
      }
      return found;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All objects. */
  public List<JsonNode> objects() {
    return objects;
  }

  /** Those of some kinds. */
  public List<JsonNode> of(List<String> kinds) {
    return objects.stream().filter(object -> kinds.contains(kind(object))).toList();
  }

  /** The object of a kind and name. */
  public Optional<JsonNode> find(String kind, String name) {
    return objects.stream()
        .filter(object -> kind(object).equals(kind) && name(object).equals(name))
        .findFirst();
  }

  /** Deployment and DaemonSet. */
  public List<JsonNode> workloads() {
    return of(List.of("Deployment", "DaemonSet"));
  }

  /** The containers of a workload. */
  public static List<JsonNode> containers(JsonNode workload) {
    return list(workload.at("/spec/template/spec/containers"));
  }

  /** The container of a workload that runs the driver. */
  public static JsonNode driver(JsonNode workload) {
    return containers(workload).stream()
        .filter(container -> container.path("name").asText().equals("csi-plugin"))
        .findFirst()
        .orElseThrow();
  }

  static List<JsonNode> list(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).toList();
  }

  static List<String> texts(JsonNode array) {
    return list(array).stream().map(JsonNode::asText).toList();
  }

  /** The kind of an object. */
  public static String kind(JsonNode object) {
    return object.path("kind").asText();
  }

  static String name(JsonNode object) {
    return object.at("/metadata/name").asText();
  }
}
