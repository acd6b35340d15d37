package io.cephcsi.driver.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.cephcsi.driver.docs.Documents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;

/** What the documentation says of the chart. */
class ChartDocumentationTest {
  private static final Path INSTALL = Path.of("docs/install.md");
  private static final List<String> PEERS = List.of("ceph-csi-rbd.yaml", "ceph-csi-cephfs.yaml");

  @TempDir private Path folder;

  @Test
  @EnabledOnOs(architectures = "amd64", disabledReason = "Helm's library is there for amd64 only")
  void theValuesOfTheInstallationAreServed() throws IOException {
    String section = Documents.section(INSTALL, "Five commands");
    String values = Documents.block(section.substring(section.indexOf("with this")));
    String cephFs = Documents.block(section.substring(section.indexOf("For CephFS beside")));
    Path file = Files.writeString(folder.resolve("values.yaml"), values + "\n" + cephFs);
    Chart chart = Chart.rendered(file, "ceph-csi-java", Map.of());
    assertThat(chart.find("Deployment", "ceph-csi-java-provisioner")).isPresent();
    assertThat(chart.find("StorageClass", "csi-rbd-sc")).isPresent();
    assertThat(chart.find("StorageClass", "csi-cephfs-sc")).isPresent();
    assertThat(chart.find("Secret", "csi-rbd-secret")).isPresent();
    assertThat(chart.of(List.of("CSIDriver"))).hasSize(2);
  }

  @Test
  void valuesThatThePeersDoNotHaveAreInTheReference() throws IOException {
    JsonNode own = values(Chart.FOLDER.resolve("values.yaml"));
    Documents reference = Documents.below("docs/reference");
    for (String below : List.of("", "/nodeplugin", "/provisioner", "/CSIDriver")) {
      TreeSet<String> keys = new TreeSet<>();
      own.at(below).fieldNames().forEachRemaining(keys::add);
      for (String peer : PEERS) {
        values(Chart.VALUES.resolve(peer)).at(below).fieldNames().forEachRemaining(keys::remove);
      }
      // Not in the peers' values.yaml, but known there.
      keys.removeAll(List.of("nameOverride", "fullnameOverride", "clustername", "instanceID"));
      keys.removeAll(List.of("configMapKey"));
      String prefix = below.isEmpty() ? "" : below.substring(1) + ".";
      assertThat(keys)
          .isNotEmpty()
          .allMatch(
              key ->
                  reference.hasWord(prefix + key)
                      || reference.hasWord(prefix + key + ".enabled")
                      || reference.hasWord(prefix + key + ".parameters"));
    }
  }

  private static JsonNode values(Path file) throws IOException {
    return new YAMLMapper().readTree(file.toFile());
  }
}
