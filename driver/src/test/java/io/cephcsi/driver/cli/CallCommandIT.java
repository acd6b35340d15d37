package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CallCommandIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static TestDriver driver;
  private static Path secrets;

  @BeforeAll
  static void start(@TempDir Path folder) throws IOException {
    driver = TestDriver.rbd(CLUSTER).start();
    StringBuilder text = new StringBuilder("# the provisioner\n\n");
    driver.secrets().forEach((key, value) -> text.append(key + " = " + value + "\n"));
    secrets = Files.writeString(folder.resolve("secrets"), text);
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @Test
  void theAnswerIsJson() throws JsonProcessingException {
    Program call = call("GetPluginInfo");
    assertThat(call.exitCode()).isZero();
    assertThat(call.err()).isEmpty();
    assertThat(json(call).path("name").asText()).isEqualTo("rbd.csi.ceph.com");
  }

  @Test
  void aVolumeLivesThroughCallsOnly() throws JsonProcessingException {
    Program create =
        call(
            "CreateVolume",
            """
            {"name": "pvc-%s", "capacity_range": {"required_bytes": 67108864},
             "volume_capabilities": [{"block": {}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}],
             "parameters": {"clusterID": "%s", "pool": "rbd"}}
            """
                .formatted(UUID.randomUUID(), TestDriver.CLUSTER_ID),
            "--secrets-file",
            secrets.toString());
    assertThat(create.exitCode()).as(create.err()).isZero();
    JsonNode volume = json(create).path("volume");
    assertThat(volume.path("capacity_bytes").asLong()).isEqualTo(64 << 20);
    String image = volume.path("volume_context").path("imageName").asText();
    assertThat(CLUSTER.rbd("ls", "rbd").lines()).contains(image);

    String id = "{\"volumeId\": \"" + volume.path("volume_id").asText() + "\"}";
    Program reclaim = call("ControllerReclaimSpace", id, "--secrets-file", secrets.toString());
    assertThat(reclaim.exitCode()).as(reclaim.err()).isZero();
    // A zero is shown too: a script must not take "nothing allocated" for "not measured".
    assertThat(json(reclaim).at("/post_usage/usage_bytes").asText()).isEqualTo("0");

    Program delete =
        call("csi.v1.Controller/DeleteVolume", id, "--secrets-file", secrets.toString());
    assertThat(delete.exitCode()).as(delete.err()).isZero();
    assertThat(CLUSTER.rbd("ls", "rbd").lines()).doesNotContain(image);
  }

  @Test
  void aRefusalHasTheStatusCodeAndTheMessage() {
    Program call = call("DeleteVolume");
    assertThat(call.exitCode()).isEqualTo(1);
    assertThat(call.out()).isEmpty();
    assertThat(call.err()).startsWith("INVALID_ARGUMENT: ").contains("volume_id").hasLineCount(1);
  }

  @Test
  void aMethodThatIsNotServedIsUnimplemented() {
    Program call = call("ListVolumes"); // which needs credentials of the driver
    assertThat(call.exitCode()).isEqualTo(1);
    assertThat(call.err()).startsWith("UNIMPLEMENTED: ");
  }

  private static Program call(String... args) {
    return Program.call(driver.folder().resolve("csi.sock"), args);
  }

  private static JsonNode json(Program call) throws JsonProcessingException {
    return new ObjectMapper().readTree(call.out());
  }
}
