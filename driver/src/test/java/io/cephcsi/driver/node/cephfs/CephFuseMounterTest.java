package io.cephcsi.driver.node.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.machine.Argument;
import java.util.List;
import org.junit.jupiter.api.Test;

class CephFuseMounterTest {
  /** libfuse would end the option at the comma, though it stands between quotes. */
  @Test
  void aCommaBetweenQuotesDoesNotEndTheOption() {
    String context = "context=\"system_u:object_r:container_file_t:s0:c1,c2\"";
    List<String> options =
        MountFlags.split(List.of("noatime," + context)).stream()
            .map(CephFuseMounter::escaped)
            .toList();
    assertThat(options).hasSize(2);
    assertThat(Argument.options("mount options", options))
        .hasToString("noatime,context=\"system_u:object_r:container_file_t:s0:c1\\,c2\"");
    assertThat(CephFuseMounter.escaped("max_read=131072")).isEqualTo("max_read=131072");
  }
}
