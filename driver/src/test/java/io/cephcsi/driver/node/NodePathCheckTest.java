package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodePathCheckTest {
  private static final String ID = "volume";

  @TempDir Path folder;

  /** What came through to the volumes. */
  private final List<Path> seen = new ArrayList<>();

  private static void assertRefused(Reason reason, Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  @Test
  void onePathIsOneHoweverItIsSpelled() throws Exception {
    Path real = Files.createDirectories(folder.toRealPath().resolve("real"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), real);
    NodePathCheck places = new NodePathCheck(new Unpublishing(seen::add));
    places.unpublish(ID, link.resolve("below/target"));
    places.unpublish(ID, real.resolve("below/target"));
    assertThat(seen).containsOnly(real.resolve("below/target")).hasSize(2);
    assertRefused(Reason.FAILED_PRECONDITION, () -> places.unpublish(ID, link));
    assertRefused(
        Reason.INVALID_ARGUMENT, () -> places.unpublish(ID, Path.of("/proc/self/root/x")));
    Path dev = Files.createSymbolicLink(folder.resolve("dev"), Path.of("/dev"));
    assertRefused(Reason.INVALID_ARGUMENT, () -> places.unpublish(ID, dev.resolve("null")));
    assertThat(seen).hasSize(2);
  }

  @Test
  void oneCallWorksOnAPathAtATime() throws Exception {
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.toRealPath());
    NodePathCheck[] places = new NodePathCheck[1];
    places[0] =
        new NodePathCheck(
            new Unpublishing(
                target -> {
                  if (seen.isEmpty()) {
                    seen.add(target);
                    assertRefused(
                        Reason.ABORTED, () -> places[0].unpublish(ID, link.resolve("target")));
                    places[0].unpublish(ID, folder.resolve("other"));
                  }
                }));
    places[0].unpublish(ID, folder.resolve("target"));
    places[0].unpublish(ID, folder.resolve("target"));
    assertThat(seen).hasSize(1);
  }

  /** Does nothing but what it is told to do when a target is taken away. */
  private record Unpublishing(Consumer<Path> work) implements NodeVolumes {
    @Override
    public void unpublish(String volumeId, Path target) {
      work.accept(target);
    }

    @Override
    public void stage(StageRequest request, Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unstage(String volumeId, Path stagingPath) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void publish(PublishRequest request, Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long expand(
        String volumeId,
        Path volumePath,
        Optional<Path> stagingPath,
        long required,
        ClusterUsers users,
        Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public VolumeStats stats(String volumeId, Path volumePath, ClusterUsers users) {
      throw new UnsupportedOperationException();
    }
  }
}
