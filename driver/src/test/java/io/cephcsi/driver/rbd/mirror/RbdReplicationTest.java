package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.parameters.ReplicationParameters;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is remembered of refused promotions; no cluster is asked. */
class RbdReplicationTest {
  private static final Duration TIME = Duration.ofSeconds(90);
  private static final VolumeId ID = new VolumeId("unknown", 1, UUID.randomUUID());
  private static final MirrorStatus PRIMARY_ELSEWHERE =
      new MirrorStatus(
          Optional.empty(),
          List.of(new MirrorSite("uuid", MirrorSite.State.STOPPED, "", Instant.EPOCH, true)));

  private final StoringKms kms = new StoringKms();
  private final RefusedPromotions refused = new RefusedPromotions(TIME, this::now);
  private long now = 7;

  private long now() {
    return now;
  }

  private Reason refuse() {
    return refused.refuse(ID, PRIMARY_ELSEWHERE, null).reason();
  }

  @Test
  void theEndOfTheMirroringBeginsAnew(@TempDir Path folder) throws IOException {
    ClusterDirectory clusters =
        new ClusterDirectory(Files.writeString(folder.resolve("config.json"), "[]"));
    RbdSettings settings =
        new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, id -> kms);
    try (ConnectionPool connections = new ConnectionPool(TIME, TIME);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
        RbdSessions sessions =
            new RbdSessions(
                clusters, connections, executors, new OperationRegistry(TIME), settings)) {
      RbdReplication replication = new RbdReplication(sessions, TIME, TIME, refused);
      assertThat(refuse()).isEqualTo(Reason.ABORTED);
      now += TIME.toNanos();
      assertThat(refuse()).isEqualTo(Reason.FAILED_PRECONDITION);
      ReplicationParameters parameters = ReplicationParameters.parse(Map.of());
      assertThatThrownBy(() -> replication.disable(ID, parameters, new Credentials("user", "key")))
          .isInstanceOf(VolumeException.class);
      assertThat(refuse()).isEqualTo(Reason.ABORTED);
    }
  }
}
