package io.cephcsi.driver.chart;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.InstallCommand;
import com.marcnuri.helm.TemplateCommand;
import com.marcnuri.helm.UninstallCommand;
import com.marcnuri.helm.UpgradeCommand;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Those commands and options of Helm's program that the project uses, served by Helm's library, for
 * {@code ci/helm}, which runs this file as it is where Helm is not installed. The cluster is that
 * of the variable KUBECONFIG.
 */
final class HelmMain {
  private static final Map<String, String> SHORT =
      Map.of("-n", "--namespace", "-f", "--values", "-o", "--output");
  private static final Set<String> FLAGS = Set.of("--create-namespace", "--wait");
  private static final Set<String> OPTIONS =
      Set.of("--namespace", "--values", "--set", "--kube-version", "--output");

  private final List<String> words = new ArrayList<>();
  private final Set<String> flags = new TreeSet<>();
  private final Map<String, List<String>> options = new LinkedHashMap<>();

  private HelmMain(String[] args) {
    Deque<String> rest = new ArrayDeque<>(List.of(args));
    while (!rest.isEmpty()) {
      String word = rest.pop();
      int equal = word.startsWith("--") ? word.indexOf('=') : -1;
      if (equal > 0) {
        rest.push(word.substring(equal + 1));
        word = word.substring(0, equal);
      }
      String option = SHORT.getOrDefault(word, word);
      if (FLAGS.contains(option)) {
        flags.add(option);
      } else if (OPTIONS.contains(option) && !rest.isEmpty()) {
        options.computeIfAbsent(option, name -> new ArrayList<>()).add(rest.pop());
      } else if (word.startsWith("-")) {
        throw new IllegalArgumentException("ci/helm does not know " + word + ": install helm");
      } else {
        words.add(word);
      }
    }
  }

  /**
   * Runs one command and prints what it says.
   *
   * @param args the words after {@code helm}
   */
  public static void main(String[] args) {
    try {
      System.out.println(new HelmMain(args).run());
    } catch (IllegalStateException | IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }

  private String run() {
    return switch (words.isEmpty() ? "" : words.get(0)) {
      case "template" -> template();
      case "install" -> install();
      case "upgrade" -> upgrade();
      case "uninstall" -> uninstall();
      case "get" -> values();
      default ->
          throw new IllegalArgumentException(
              "ci/helm knows template, install, upgrade, uninstall and get values, not " + words);
    };
  }

  private String template() {
    TemplateCommand command =
        new Helm(Path.of(word(2))).template().withName(word(1)).withNamespace(namespace());
    list("--kube-version").forEach(command::withKubeVersion);
    list("--values").forEach(file -> command.withValuesFile(Path.of(file)));
    settings().forEach(command::set);
    return command.call();
  }

  private String install() {
    InstallCommand command =
        new Helm(Path.of(word(2)))
            .install()
            .withName(word(1))
            .withNamespace(namespace())
            .withKubeConfig(kubeConfig());
    if (flags.contains("--create-namespace")) {
      command.createNamespace();
    }
    if (flags.contains("--wait")) {
      command.waitReady();
    }
    list("--values").forEach(file -> command.withValuesFile(Path.of(file)));
    settings().forEach(command::set);
    return command.call().getOutput();
  }

  private String upgrade() {
    UpgradeCommand command =
        new Helm(Path.of(word(2)))
            .upgrade()
            .withName(word(1))
            .withNamespace(namespace())
            .withKubeConfig(kubeConfig());
    if (flags.contains("--wait")) {
      command.waitReady();
    }
    list("--values").forEach(file -> command.withValuesFile(Path.of(file)));
    settings().forEach(command::set);
    return command.call().getOutput();
  }

  private String uninstall() {
    UninstallCommand command =
        Helm.uninstall(word(1)).withNamespace(namespace()).withKubeConfig(kubeConfig());
    return command.call();
  }

  private String values() {
    if (!"values".equals(word(1))) {
      throw new IllegalArgumentException("ci/helm knows 'get values', not " + words);
    }
    return Helm.get(word(2))
        .values()
        .withNamespace(namespace())
        .withKubeConfig(kubeConfig())
        .call();
  }

  private String word(int index) {
    if (index >= words.size()) {
      throw new IllegalArgumentException("a word is missing after " + words);
    }
    return words.get(index);
  }

  private List<String> list(String option) {
    return options.getOrDefault(option, List.of());
  }

  private Map<String, String> settings() {
    Map<String, String> settings = new LinkedHashMap<>();
    for (String list : list("--set")) {
      for (String one : list.split(",", -1)) {
        int equal = one.indexOf('=');
        if (equal < 1) {
          throw new IllegalArgumentException("--set takes key=value, not " + one);
        }
        settings.put(one.substring(0, equal), one.substring(equal + 1));
      }
    }
    return settings;
  }

  private String namespace() {
    return list("--namespace").stream().findFirst().orElse("default");
  }

  private static Path kubeConfig() {
    String file = System.getenv("KUBECONFIG");
    if (file == null) {
      throw new IllegalArgumentException("KUBECONFIG does not name a cluster");
    }
    return Path.of(file);
  }
}
