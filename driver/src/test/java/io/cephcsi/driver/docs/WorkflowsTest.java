package io.cephcsi.driver.docs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The workflows have the keys that GitHub Actions knows, refer to what is there, and run scripts of
 * ci/ with options that these have: what they do is tried without GitHub.
 */
class WorkflowsTest {
  private static final Path ROOT = Path.of("..");
  private static final Path FOLDER = ROOT.resolve(".github/workflows");

  private static final Set<String> WORKFLOW =
      Set.of("name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs");
  private static final Set<String> JOB =
      Set.of(
          "name",
          "needs",
          "if",
          "runs-on",
          "permissions",
          "environment",
          "concurrency",
          "outputs",
          "env",
          "defaults",
          "steps",
          "timeout-minutes",
          "strategy",
          "continue-on-error",
          "container",
          "services");
  private static final Set<String> STEP =
      Set.of(
          "id",
          "if",
          "name",
          "uses",
          "run",
          "with",
          "env",
          "shell",
          "working-directory",
          "continue-on-error",
          "timeout-minutes");
  private static final Set<String> EVENTS =
      Set.of("push", "pull_request", "workflow_dispatch", "schedule", "release");
  private static final Set<String> SCOPES =
      Set.of("actions", "checks", "contents", "id-token", "issues", "packages", "pull-requests");

  /** The inputs of the actions that are used. */
  private static final Map<String, Set<String>> ACTIONS =
      Map.of(
          "actions/checkout",
          Set.of("ref", "fetch-depth", "path", "persist-credentials", "submodules"),
          "actions/setup-java",
          Set.of("distribution", "java-version", "cache", "cache-dependency-path", "architecture"),
          "actions/upload-artifact",
          Set.of("name", "path", "if-no-files-found", "retention-days", "overwrite"));

  private static final Pattern ACTION = Pattern.compile("([a-z0-9-]+/[a-z0-9-]+)@v[0-9]+");
  private static final Pattern EXPRESSION = Pattern.compile("\\$\\{\\{ *([a-z_.]+) *}}");
  private static final Pattern SCRIPT =
      Pattern.compile("(?:^|[\\s;&|])(\\.?ci/[a-z-]+(?:/[a-z-]+)?)([^;&|\\n]*)");
  private static final Pattern OPTION = Pattern.compile("--[a-z][a-z-]*");

  static Stream<Path> workflows() {
    return Documents.files(FOLDER, ".yml").stream();
  }

  private static JsonNode read(Path file) throws IOException {
    return JsonMapper.builder(new YAMLFactory())
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .build()
        .readTree(file.toFile());
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static List<JsonNode> steps(JsonNode job) {
    return StreamSupport.stream(job.path("steps").spliterator(), false).toList();
  }

  @ParameterizedTest
  @MethodSource("workflows")
  void keysAreThoseOfGitHub(Path file) throws IOException {
    JsonNode workflow = read(file);
    assertThat(names(workflow)).isSubsetOf(WORKFLOW).contains("name", "on", "jobs", "permissions");
    assertThat(names(workflow.path("on"))).isNotEmpty().isSubsetOf(EVENTS);
    permissions(workflow);
    assertThat(names(workflow.path("jobs"))).isNotEmpty();
    for (JsonNode job : workflow.path("jobs")) {
      assertThat(names(job))
          .as(job.toString())
          .isSubsetOf(JOB)
          .contains("name", "runs-on", "steps", "timeout-minutes");
      permissions(job);
      assertThat(steps(job)).isNotEmpty();
      for (JsonNode step : steps(job)) {
        assertThat(names(step)).as(step.toString()).isSubsetOf(STEP);
        assertThat(step.has("uses")).as("uses or run: " + step).isNotEqualTo(step.has("run"));
        assertThat(step.has("with") && step.has("run")).as(step.toString()).isFalse();
      }
    }
  }

  private static void permissions(JsonNode of) {
    JsonNode permissions = of.path("permissions");
    assertThat(names(permissions)).isSubsetOf(SCOPES);
    permissions.forEach(value -> assertThat(value.asText()).isIn("read", "write", "none"));
  }

  @ParameterizedTest
  @MethodSource("workflows")
  void whatJobsReferToIsThere(Path file) throws IOException {
    JsonNode workflow = read(file);
    Set<String> jobs = Set.copyOf(names(workflow.path("jobs")));
    Set<String> artifacts = new HashSet<>();
    for (JsonNode job : workflow.path("jobs")) {
      JsonNode needs = job.path("needs");
      if (needs.isTextual()) {
        assertThat(jobs).contains(needs.asText());
      }
      needs.forEach(each -> assertThat(jobs).contains(each.asText()));
      List<String> matrix = names(job.at("/strategy/matrix"));
      Matcher expression = EXPRESSION.matcher(job.toString());
      while (expression.find()) {
        String used = expression.group(1);
        assertThat(
                matrix.contains(used.replaceFirst("^matrix\\.", "")) || used.equals("github.token"))
            .as("${{ " + used + " }} in " + file)
            .isTrue();
      }
      for (JsonNode step : steps(job)) {
        if (step.has("uses")) {
          Matcher action = ACTION.matcher(step.path("uses").asText());
          assertThat(action.matches()).as(step.toString()).isTrue();
          assertThat(ACTIONS).containsKey(action.group(1));
          assertThat(names(step.path("with"))).isSubsetOf(ACTIONS.get(action.group(1)));
          if (action.group(1).equals("actions/upload-artifact")) {
            String name = step.at("/with/name").asText();
            assertThat(artifacts.add(name)).as("two artifacts are called " + name).isTrue();
            assertThat(matrix.isEmpty()).as(name).isNotEqualTo(name.contains("matrix."));
          }
        }
      }
    }
  }

  /** All tests mount file systems; those in virtual machines want Debian's kernel. */
  @ParameterizedTest
  @MethodSource("workflows")
  void allTestsRunAsRoot(Path file) throws IOException {
    for (JsonNode job : read(file).path("jobs")) {
      boolean debian =
          job.at("/container/image").asText().startsWith("debian:")
              && job.at("/container/options").asText().contains("--privileged");
      for (JsonNode step : steps(job)) {
        String run = step.path("run").asText();
        if (run.matches("(?s).*(ci/test|\\.ci/run|ci/other-ceph test).*")) {
          assertThat(debian || run.startsWith("sudo -E ")).as(run).isTrue();
          if (!debian) {
            assertThat(job.at("/env/CEPH_TEST_PROVIDER").asText()).isEqualTo("testcontainers");
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("workflows")
  void whatRunsAreScriptsWithTheirOptions(Path file) throws IOException {
    int scripts = 0;
    for (JsonNode job : read(file).path("jobs")) {
      for (JsonNode step : steps(job)) {
        Matcher script = SCRIPT.matcher(step.path("run").asText());
        boolean found = false;
        while (script.find()) {
          found = true;
          scripts++;
          Path path = ROOT.resolve(script.group(1));
          assertThat(Files.isExecutable(path)).as(path.toString()).isTrue();
          String help = Commands.run(List.of(path.toString(), "--help"));
          Matcher option = OPTION.matcher(script.group(2));
          while (option.find()) {
            assertThat(help).as(script.group(1)).contains(option.group());
          }
        }
        if (step.has("run") && !found) {
          assertThat(step.path("run").asText()).startsWith("gh release create ");
        }
      }
    }
    assertThat(scripts).isPositive();
  }
}
