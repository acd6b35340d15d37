package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class FsckExampleTest {
  @Test
  void theCronJobCallsTheCommandWithOptionsThatItKnowsAndMountsWhatTheyName() throws Exception {
    JsonNode job =
        new ObjectMapper(new YAMLFactory())
            .readTree(Path.of("deploy/examples/fsck-cronjob.yaml").toFile());
    assertThat(job.path("kind").asText()).isEqualTo("CronJob");
    JsonNode container = job.at("/spec/jobTemplate/spec/template/spec/containers/0");
    assertThat(texts(container.path("command"))).containsExactly("ceph-csi", "fsck");
    List<String> arguments = texts(container.path("args"));
    CommandLine.ParseResult parsed =
        new CommandLine(new FsckCommand()).parseArgs(arguments.toArray(new String[0]));
    assertThat(parsed.hasMatchedOption("--metrics-file")).isTrue();
    assertThat(parsed.hasMatchedOption("--repair")).isFalse();
    List<String> mounts = new ArrayList<>();
    container.path("volumeMounts").forEach(mount -> mounts.add(mount.path("mountPath").asText()));
    for (String option : List.of("--credentials-file", "--metrics-file", "--clusters-file")) {
      Path file = parsed.matchedOptionValue(option, Path.of("/etc/ceph-csi-config/config.json"));
      assertThat(mounts).as(option).contains(file.getParent().toString());
    }
  }

  private static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(text -> texts.add(text.asText()));
    return texts;
  }
}
