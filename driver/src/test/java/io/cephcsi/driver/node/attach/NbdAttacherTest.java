package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.machine.Processes;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of a driver that was killed while it mapped an image, on a kernel without nbd. */
class NbdAttacherTest {
  @TempDir private Path sys;

  private final ImageSpec image = new ImageSpec("rbd", "", "csi-vol-" + UUID.randomUUID());
  private NbdAttacher attacher;
  private Process mapping;

  @BeforeEach
  void beginToMap() throws IOException {
    attacher = new NbdAttacher(sys, Path.of("/proc"), sys, ServerCgroup.none());
    String line = "exec -a rbd-nbd tail -f /dev/null map rbd/" + image.image();
    mapping = new ProcessBuilder("bash", "-c", line).start();
    Awaitility.await()
        .until(() -> Processes.find("rbd-nbd", words -> words.contains("map")).isPresent());
  }

  @AfterEach
  void end() throws InterruptedException {
    mapping.destroyForcibly().waitFor();
  }

  /** The device would come later, and nobody would know of it. */
  @Test
  void anImageThatMayStillBeMappedIsNotDetached() {
    assertThatThrownBy(() -> attacher.detach(image, ""))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED))
        .hasMessageContaining(image.image());
    attacher.detach(new ImageSpec("rbd", "", "another"), "");
  }

  @Test
  void whenTheProcessHasEndedThereIsNothingToDetach() {
    CompletableFuture<Void> detached = CompletableFuture.runAsync(() -> attacher.detach(image, ""));
    assertThat(detached).isNotCompleted();
    mapping.destroyForcibly();
    assertThat(detached).succeedsWithin(20, TimeUnit.SECONDS);
  }
}
