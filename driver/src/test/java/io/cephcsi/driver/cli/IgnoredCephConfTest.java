package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.cephcsi.driver.testing.Logged;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IgnoredCephConfTest {
  @TempDir private Path folder;

  private List<String> warnings(String text) throws IOException {
    Path file = Files.writeString(folder.resolve("ceph.conf"), text);
    try (Logged log = Logged.by(IgnoredCephConf.class)) {
      IgnoredCephConf.warn(file);
      return log.lines();
    }
  }

  @Test
  void settingsOfClientsAreNamedWithoutTheirValues() throws IOException {
    List<String> warnings =
        warnings(
            """
            fsid = 4e344228-3405-4120-8a2f-e897be0bde21
            [global]
            mon host = 10.0.0.1
            MS Client-Mode = secure
            ; rbd_cache = false
            # rbd_cache_size = 1
            keyring = /etc/ceph/keyring
            [client]
            client_quota = false
            [ client.admin ]
              rados_osd_op_timeout = \\
                 77
              key = AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==
            [osd]
            osd_memory_target = 1
            """);
    assertThat(warnings).hasSize(1);
    assertThat(warnings.get(0))
        .startsWith("WARN " + folder.resolve("ceph.conf") + " has settings")
        .contains(": client_quota, ms_client_mode, rados_osd_op_timeout. ")
        .contains("ceph config set client");
    assertThat(warnings.get(0).replace(folder.toString(), "")) // whose name has digits
        .doesNotContain("secure", "77", "AQDY", "rbd_cache", "osd_memory_target", "fsid");
  }

  /** Every deployment has these. */
  @Test
  void theDefaultsOfTheChartsAreNotNamed() throws IOException {
    for (Path values :
        List.of(
            Path.of("deploy/charts/ceph-csi-java/values.yaml"),
            Path.of("src/test/resources/chart/ceph-csi-rbd.yaml"),
            Path.of("src/test/resources/chart/ceph-csi-cephfs.yaml"))) {
      String text = new YAMLMapper().readTree(values.toFile()).path("cephconf").asText();
      assertThat(text).contains("auth_cluster_required");
      assertThat(warnings(text)).isEmpty();
    }
  }

  @Test
  void whatCannotBeReadIsPassedOver() throws IOException {
    assertThat(warnings("")).isEmpty();
    assertThat(warnings("[\n=\nnothing\n[client\n\0\u00ff")).isEmpty();
    try (Logged log = Logged.by(IgnoredCephConf.class)) {
      IgnoredCephConf.warn(folder);
      IgnoredCephConf.warn(folder.resolve("missing"));
      assertThat(log.lines()).isEmpty();
    }
    assertThat(warnings("x".repeat(300) + "=\n" + "y".repeat(300) + "\u001b=1")).hasSize(1);
    assertThat(warnings("x\u001b = 1").get(0)).doesNotContain("\u001b").contains("x\\u001b");
  }
}
