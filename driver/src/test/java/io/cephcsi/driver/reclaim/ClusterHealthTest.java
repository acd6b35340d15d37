package io.cephcsi.driver.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClusterHealthTest {
  private static java.util.Optional<String> urgent(String health) {
    return ClusterHealth.urgent(health.getBytes(UTF_8));
  }

  @Test
  void slowOperationsAndRecoveryHoldReclaimBack() {
    assertThat(urgent("{\"status\":\"HEALTH_WARN\",\"checks\":{\"SLOW_OPS\":{}}}"))
        .hasValue("SLOW_OPS");
    assertThat(urgent("{\"checks\":{\"OSD_DOWN\":{},\"PG_DEGRADED\":{}}}")).hasValue("PG_DEGRADED");
  }

  @Test
  void otherWarningsDoNot() {
    assertThat(urgent("{\"status\":\"HEALTH_OK\",\"checks\":{},\"mutes\":[]}")).isEmpty();
    assertThat(urgent("{\"status\":\"HEALTH_WARN\",\"checks\":{\"POOL_NO_REDUNDANCY\":{}}}"))
        .isEmpty();
    assertThat(urgent("{\"checks\":{\"OSD_FULL\":{}}}")).isEmpty();
    assertThat(urgent("{\"checks\":{\"SLOW_OPS\":{\"muted\":true},\"PG_DEGRADED\":{}}}"))
        .hasValue("PG_DEGRADED");
    assertThat(urgent("{\"checks\":{\"SLOW_OPS\":{\"muted\":true}}}")).isEmpty();
    assertThat(urgent("not JSON")).isEmpty();
  }
}
