package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.cephcsi.driver.cephfs.CephFsParameters;
import io.cephcsi.driver.docs.AskedKeys;
import io.cephcsi.driver.docs.Documents;
import io.cephcsi.driver.rbd.volume.MutableParameters;
import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** What a user can set or meet stands in docs/reference, by the code's own declarations. */
class DocumentedTest {
  private static final Documents REFERENCE = Documents.below("docs/reference");
  private static final Path COMMANDS = Path.of("docs/reference/command-line.md");
  private static final Set<String> GENERAL = Set.of("-h", "--help", "-V", "--version");

  /** The keys that are asked of a map, by accessors of the driver or of the map. */
  private static final Pattern KEY =
      Pattern.compile(
          "\\b(?:required|given|name|number|namePrefix|isTrue|get|getOrDefault|containsKey)\\("
              + "(?:[^\"();]*(?:\\(\\))?[^\"();]*)?(?:\"[a-z_]+\",\\s[\\w.]+(?:\\(\\))?,\\s)?"
              + "\"([a-z][A-Za-z]+)\"");

  private static final Pattern SHOWN =
      Pattern.compile("\\bceph-csi ((?:(?:tracker|bench) )?[a-z]+)\\b(?!=)");
  private static final Pattern SCRIPT =
      Pattern.compile("\\b(ci/[a-z-]+(?:/[a-z-]+)?)((?:[^`\\n|])*)");
  private static final Pattern OPTION = Pattern.compile("(?<=[ \\[])--[a-z][a-z-]+");

  private static final Pattern METRIC = Pattern.compile("(Counter\\w*|\\w+)\\.builder\\(\\)");
  private static final Pattern NAME = Pattern.compile("\\.name\\(\"(\\w+)\"\\)");
  private static final Pattern CLUSTER_KEY = Pattern.compile("texts?\\(node, ([^)]+)\\)");
  private static final Pattern RECLAIM_KEY = Pattern.compile("case \"(\\w+)\" -> plan\\.");

  @TempDir private Path folder;

  @Test
  void everyOptionIsInTheReference() {
    List<String> missing = new ArrayList<>();
    commands()
        .forEach(
            (name, command) -> {
              String text = Documents.section(COMMANDS, name);
              String shared = Documents.section(COMMANDS, "Cluster and credentials");
              for (OptionSpec option : command.options()) {
                for (String one : option.names()) {
                  boolean own = Documents.hasWord(text, one);
                  boolean linked =
                      text.contains("(#cluster-and-credentials)") && Documents.hasWord(shared, one);
                  boolean likeShow =
                      text.contains("those of `tracker show`")
                          && Documents.hasWord(
                              Documents.section(COMMANDS, "ceph-csi tracker show"), one);
                  if (!GENERAL.contains(one) && !own && !linked && !likeShow) {
                    missing.add(name + " " + one);
                  }
                }
              }
            });
    assertThat(missing).isEmpty();
  }

  @Test
  void everyExitCodeIsInTheReferenceAsTheHelpSaysIt() {
    List<String> missing = new ArrayList<>();
    commands()
        .forEach(
            (name, command) -> {
              String text = Documents.section(COMMANDS, name);
              Map<String, String> codes = command.usageMessage().exitCodeList();
              assertThat(codes).as(name).isNotEmpty();
              codes.forEach(
                  (code, meaning) -> {
                    if (!text.contains("| " + code + " | " + meaning + " |")) {
                      missing.add(name + ": " + code + " " + meaning);
                    }
                  });
            });
    assertThat(missing).isEmpty();
  }

  @Test
  void everyKeyOfTheConfigurationFileIsInTheReference() throws Exception {
    Set<String> keys = new TreeSet<>(keys(ProcessSettings.class));
    keys.addAll(keys(DriverSettings.class));
    assertThat(keys).contains("clustersFile", "nodeFolder"); // not vacuous
    String section = Documents.section(COMMANDS, "The configuration file");
    String example = Documents.block(section);
    assertThat(keys)
        .as("keys that the example of the configuration file does not have")
        .allMatch(key -> Pattern.compile("(?m)^[ -]*" + key + ":").matcher(example).find());
    String serve = Documents.section(COMMANDS, "ceph-csi serve");
    assertThat(keys).as("keys beside their options").allMatch(key -> Documents.hasWord(serve, key));
    Path file = Files.writeString(folder.resolve("config.yaml"), example);
    assertThat(ConfigFile.read(file).drivers()).hasSize(2);
  }

  @Test
  void everyMetricIsInTheReference() throws IOException {
    Set<String> metrics = new TreeSet<>();
    for (String source : Documents.sources()) {
      if (source.contains("import io.prometheus.metrics.core.metrics.")) {
        Matcher builder = METRIC.matcher(source);
        Matcher name = NAME.matcher(source);
        while (builder.find() && name.find(builder.end())) {
          metrics.add(name.group(1) + (builder.group(1).startsWith("Counter") ? "_total" : ""));
        }
      }
    }
    assertThat(metrics)
        .contains("csi_plugin_operations_seconds", "ceph_csi_reclaims_total", "csi_liveness");
    assertThat(metrics).allMatch(REFERENCE::hasWord);
  }

  @Test
  void everyParameterIsInTheReference() throws IOException {
    Set<String> keys = new TreeSet<>();
    for (String source : Documents.sources()) {
      KEY.matcher(source).results().forEach(found -> keys.add(found.group(1)));
    }
    assertThat(keys).contains("clusterID", "mounter", "tryOtherMounters", "rootPath"); // it finds
    keys.removeAll(Set.of("name", "connection", "parameters")); // of messages
    keys.addAll(AskedKeys.ofRbdVolumes());
    keys.addAll(AskedKeys.ofRbdSnapshots());
    keys.addAll(AskedKeys.ofRbdGroups());
    keys.addAll(AskedKeys.ofReplication());
    keys.addAll(AskedKeys.of(CephFsParameters::parse, AskedKeys.CEPHFS));
    keys.addAll(AskedKeys.of(CephFsParameters::snapshotPrefix, Map.of()));
    keys.removeIf(key -> key.startsWith("csi.storage.k8s.io/")); // the sidecars' names
    assertThat(keys)
        .contains("snapshotMode", "topologyConstrainedPools", "journalPool", "flattenMode");
    assertThat(keys).allMatch(REFERENCE::hasWord);
  }

  @Test
  void everyMutableAndReclaimParameterIsInTheReference() throws IOException {
    VolumeException known =
        catchThrowableOfType(
            VolumeException.class, () -> MutableParameters.parse(Map.of("unknown", "")));
    String list = known.getMessage().replaceAll(".*\\[(.*)\\].*", "$1");
    List<String> mutable = Arrays.asList(list.split(", ", -1));
    assertThat(mutable).contains("qos.iopsLimit");
    assertThat(mutable).allMatch(REFERENCE::hasWord);
    List<String> reclaim =
        RECLAIM_KEY
            .matcher(Documents.source("reclaim/ReclaimPlan.java"))
            .results()
            .map(found -> "reclaim." + found.group(1))
            .toList();
    assertThat(reclaim).contains("reclaim.method");
    assertThat(reclaim).allMatch(REFERENCE::hasWord);
  }

  @Test
  void everyKeyOfTheClustersFileIsInTheReference() throws IOException {
    List<String> keys =
        CLUSTER_KEY
            .matcher(Documents.source("cluster/ClusterDirectory.java"))
            .results()
            .map(found -> found.group(1).replace("\"", "").replace(", ", "."))
            .toList();
    assertThat(keys).contains("clusterID", "cephFS.subvolumeGroup");
    assertThat(keys).allMatch(REFERENCE::hasWord);
  }

  @Test
  void everyCommandThatIsShownExistsWithItsOptions() {
    Map<String, CommandSpec> commands = commands();
    List<String> wrong = new ArrayList<>();
    int seen = 0;
    for (Path page : Documents.allPages()) {
      for (String code : Documents.code(page)) {
        Matcher shown = SHOWN.matcher(code);
        if (shown.find()) {
          seen++;
          String name = DriverMain.NAME + " " + shown.group(1);
          Set<String> options = new TreeSet<>(GENERAL);
          commands.forEach(
              (command, spec) -> {
                if (name.equals(command) || name.startsWith(command + " ")) {
                  options.addAll(spec.optionsMap().keySet());
                }
              });
          boolean known = commands.keySet().stream().anyMatch(command -> command.startsWith(name));
          if (options.size() == GENERAL.size() && !known) {
            wrong.add(page + ": " + name);
          }
          OPTION
              .matcher(code.substring(shown.end()))
              .results()
              .forEach(
                  option -> {
                    if (!options.contains(option.group())) {
                      wrong.add(page + ": " + name + " " + option.group());
                    }
                  });
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(seen).isGreaterThan(30); // not vacuous
  }

  @Test
  void everyScriptThatIsShownExistsWithItsOptions() throws IOException {
    List<String> wrong = new ArrayList<>();
    int seen = 0;
    for (Path page : Documents.allPages()) {
      for (String code : Documents.code(page)) {
        Matcher shown = SCRIPT.matcher(code);
        if (shown.find()) {
          seen++;
          Path script = Path.of("..", shown.group(1));
          String text = Files.isRegularFile(script) ? Files.readString(script) : "";
          String own = shown.group(2).split(" -- ", 2)[0]; // what follows is Maven's
          OPTION
              .matcher(own)
              .results()
              .map(option -> option.group())
              .filter(option -> !text.contains(option))
              .forEach(option -> wrong.add(page + ": " + script + " " + option));
          if (text.isEmpty() && !Files.exists(script)) {
            wrong.add(page + ": " + script);
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(seen).isGreaterThan(15); // not vacuous
  }

  private static List<String> keys(Class<?> settings) {
    return Arrays.stream(settings.getDeclaredFields())
        .map(field -> field.getAnnotation(JsonProperty.class))
        .filter(Objects::nonNull)
        .map(JsonProperty::value)
        .toList();
  }

  /** The commands that do something, by their names, as in the headings of the reference. */
  private static Map<String, CommandSpec> commands() {
    Map<String, CommandSpec> found = new LinkedHashMap<>();
    for (CommandLine command : DriverMain.commandLine().getSubcommands().values()) {
      if (!(command.getCommand() instanceof CommandLine.HelpCommand)) {
        add(found, DriverMain.NAME, command.getCommandSpec());
      }
    }
    assertThat(found).hasSizeGreaterThan(5);
    return found;
  }

  private static void add(Map<String, CommandSpec> found, String parent, CommandSpec spec) {
    String name = parent + " " + spec.name();
    if (spec.subcommands().isEmpty()) {
      found.put(name, spec);
    }
    spec.subcommands().values().forEach(below -> add(found, name, below.getCommandSpec()));
  }
}
