package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;

/** What volumes go through on a node, on one kind of storage; driven again when it was cut off. */
abstract class NodeLife implements AutoCloseable {
  static final TestCluster CLUSTER = TestCluster.shared();

  final TestDriver driver;

  private NodeLife(TestDriver driver) {
    this.driver = driver;
  }

  static NodeLife of(String type) {
    return switch (type) {
      case "rbd" -> new OfRbd(TestDriver.rbd(CLUSTER).start());
      case "rbd-files" ->
          new OfRbd(
              TestDriver.rbd(CLUSTER).encryptedFiles(Path.of("/nonexistent"), "default").start());
      default -> new OfCephFs();
    };
  }

  /** The type of driver. */
  abstract String type();

  /** Makes what the next life is about. */
  abstract void prepare();

  /** Leads the life from its begin to its end; what may be repeated stands at its begin. */
  abstract void lead(NodeClient node) throws IOException;

  /** Lets the cluster forget clients that were killed, which it would wait for. */
  abstract void forgetDead(NodeClient node);

  /** Deletes what {@link #prepare} made. */
  abstract void cleanUp();

  /** A call that may have to wait until the cluster has given a killed client up. */
  static void inTime(Runnable call) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(3))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(call::run);
  }

  private static void write(NodeClient node, Volume volume, VolumeCapability use)
      throws IOException {
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    Files.writeString(target.resolve("file"), "written");
    node.unpublish(volume, "pod");
    node.unstage(volume);
  }

  void delete(Volume volume) {
    inTime(() -> driver.delete(volume.getVolumeId()));
  }

  @Override
  public void close() {
    driver.close();
  }

  private static final class OfRbd extends NodeLife {
    private static final VolumeCapability USE =
        NodeClient.mounted("ext4", Mode.SINGLE_NODE_WRITER, "noatime");

    private Volume volume = Volume.getDefaultInstance();

    OfRbd(TestDriver driver) {
      super(driver);
    }

    @Override
    String type() {
      return "rbd";
    }

    @Override
    void prepare() {
      volume = driver.create("pvc-" + UUID.randomUUID(), 64L << 20);
    }

    @Override
    void lead(NodeClient node) throws IOException {
      write(node, volume, USE);
    }

    @Override
    void forgetDead(NodeClient node) {
      if (!node.daemons().isEmpty()) {
        return; // it lives
      }
      try (RadosCluster cluster = CLUSTER.connect();
          IoContext io = cluster.openPool(CLUSTER.pool());
          RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
        image
            .watchers()
            .forEach(watcher -> CLUSTER.ceph("osd", "blocklist", "add", watcher.address()));
      }
    }

    @Override
    void cleanUp() {
      delete(volume);
    }
  }

  /** A volume, and one that shows a snapshot of another and must never show more. */
  private static final class OfCephFs extends NodeLife {
    private static final VolumeCapability WRITER =
        NodeClient.mounted("", Mode.SINGLE_NODE_WRITER, "noatime");
    private static final VolumeCapability READER = TestDriver.onlyReader();

    private final String name = "pvc-" + UUID.randomUUID();
    private final Volume source;
    private final String snapshot;
    private final Volume shallow;
    private Volume volume = Volume.getDefaultInstance();

    OfCephFs() {
      super(TestDriver.cephFs(CLUSTER).withCredentials().start());
      source = driver.create(name, 16L << 20);
      snapshot = driver.snapshot(name, source.getVolumeId()).getSnapshotId();
      shallow = driver.show(name + "-shallow", snapshot);
    }

    @Override
    String type() {
      return "cephfs";
    }

    @Override
    void prepare() {
      volume = driver.create("pvc-" + UUID.randomUUID(), 16L << 20);
    }

    @Override
    void lead(NodeClient node) throws IOException {
      write(node, volume, WRITER);
      node.stage(shallow, READER);
      Path shown = node.publish(shallow, READER, "pod");
      try (var files = Files.list(shown)) {
        assertThat(files).as("of the snapshot, which is empty").isEmpty();
      }
      node.unpublish(shallow, "pod");
      node.unstage(shallow);
    }

    @Override
    void forgetDead(NodeClient node) {
      JsonNode sessions = PoolState.json(CLUSTER.ceph("tell", "mds.0", "session", "ls"));
      List<String> alive =
          node.daemons().stream()
              .map(process -> process.info().arguments().orElseThrow()[0])
              .toList();
      for (JsonNode session : sessions) {
        JsonNode client = session.path("client_metadata");
        String mount = client.path("mount_point").asText("");
        boolean dead =
            mount.startsWith(driver.folder() + "/")
                ? !alive.contains(mount)
                : client.has("pid") && ProcessHandle.of(client.path("pid").asLong()).isEmpty();
        if (dead) {
          CLUSTER.ceph("tell", "mds.0", "session", "evict", "id=" + session.path("id").asText());
        }
      }
    }

    @Override
    void cleanUp() {
      delete(volume);
    }

    @Override
    public void close() {
      delete(shallow);
      inTime(() -> driver.deleteSnapshot(snapshot));
      delete(source);
      super.close();
    }
  }
}
